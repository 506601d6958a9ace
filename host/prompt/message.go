package prompt

import (
	"encoding/json"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/b3abf3ee/portcullis/host/provider"
)

// maxMessageBytes bounds one stored message; a larger one in the database is damage.
const maxMessageBytes = 8 << 20

// decode reads a stored message strictly: unknown or repeated members are damage, not news.
func decode(body json.RawMessage) (provider.Message, error) {
	var m provider.Message
	if len(body) > maxMessageBytes {
		return m, fmt.Errorf("it has %d bytes", len(body))
	}
	if err := jsonv2.Unmarshal(body, &m, jsonv2.RejectUnknownMembers(true)); err != nil {
		return m, err
	}
	switch m.Role {
	case provider.RoleUser, provider.RoleAssistant, provider.RoleTool:
		return m, nil
	}
	return m, fmt.Errorf("its role is %q", m.Role)
}
