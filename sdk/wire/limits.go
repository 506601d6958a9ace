package wire

// Sizes that neither side may pass, in bytes unless the name says otherwise.
// They bound one message; what a call may use in total is in [Limits].
const (
	MaxCallBytes   = 4 << 20  // a Call, arguments included
	MaxReplyBytes  = 8 << 20  // a Reply, result included
	MaxDescription = 1 << 20  // a Description
	MaxHeaderBytes = 64 << 10 // the JSON header of a frame
	MaxBodyBytes   = 16 << 20 // the bytes after it

	MaxFaultMessage = 4 << 10 // Fault.Message
	MaxLogBytes     = 16 << 10
	MaxLogAttrs     = 32 // count
	MaxProgress     = 4 << 10
	MaxRandom       = 1024
	MaxCallID       = 128
	MaxToolName     = 64
	MaxReference    = 256 // Reconciliation.Reference

	MaxPath        = 1024    // a workspace path
	MaxReadBytes   = 4 << 20 // one fs_read
	MaxListEntries = 1000    // one page of fs_list or kv_list, count
	MaxKVKey       = 512
	MaxKVValue     = 64 << 10
	MaxKVKeys      = 1000    // keys of one plugin and principal, count
	MaxKVTotal     = 4 << 20 // values of one plugin and principal together
	MaxURL         = 8 << 10
	MaxSignBytes   = 1 << 20 // signed in one portcullis_sign
	MaxSetting     = 4 << 10 // value of one setting
	MaxHeaderCount = 100     // HTTP header lines in one request or reply
)
