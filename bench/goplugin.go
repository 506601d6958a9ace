package main

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The echo service: bytes in, the same bytes out.
const echoMethod = "/bench.Echo/Echo"

type echoServer interface {
	Echo(ctx context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error)
}

type echoing struct{}

func (echoing) Echo(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	return in, nil
}

// service is what protoc would write for one unary method.
func service() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "bench.Echo", HandlerType: (*echoServer)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := &wrapperspb.BytesValue{}
			if err := decode(in); err != nil {
				return nil, err
			}
			return srv.(echoServer).Echo(ctx, in)
		}}},
	}
}

// echoGRPC is the echo as a go-plugin plugin.
type echoGRPC struct{ plugin.NetRPCUnsupportedPlugin }

func (echoGRPC) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(service(), echoing{})
	return nil
}

func (echoGRPC) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

func handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "PORTCULLIS_BENCH", MagicCookieValue: "echo"}
}

func serveGRPC() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake(), Plugins: map[string]plugin.Plugin{"echo": echoGRPC{}},
		GRPCServer: plugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	})
}

// startGoPlugin is a plugin process that is kept, called over gRPC.
func startGoPlugin(context.Context) ([]peer, func(), error) {
	cmd, err := self("grpc")
	if err != nil {
		return nil, nil, err
	}
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake(), Plugins: map[string]plugin.Plugin{"echo": echoGRPC{}}, Cmd: cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	proto, err := client.Client()
	if err != nil {
		client.Kill()
		return nil, nil, err
	}
	raw, err := proto.Dispense("echo")
	if err != nil {
		client.Kill()
		return nil, nil, err
	}
	conn := raw.(*grpc.ClientConn)
	call := func(ctx context.Context, doc []byte) ([]byte, error) {
		out := &wrapperspb.BytesValue{}
		err := conn.Invoke(ctx, echoMethod, wrapperspb.Bytes(doc), out)
		return out.GetValue(), err
	}
	return []peer{{goPlugin, call}}, client.Kill, nil
}
