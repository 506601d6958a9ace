package redact

// published reports a key that its owner made public for everybody: the keys of Google's own samples and browser clients,
// and the one that a package registry's site serves to every visitor. They open nothing, and masking them hides a part
// of ordinary source text. Source: the lists that gitleaks 8.30.1 leaves alone; its test data holds ours to them.
func published(token string) bool {
	switch token {
	case "AIzaSyabcdefghijklmnopqrstuvwxyz1234567",
		"AIzaSyAnLA7NfeLquW1tJFpx_eQCxoX-oo6YyIs",
		"AIzaSyCkEhVjf3pduRDt6d1yKOMitrUEke8agEM",
		"AIzaSyDMAScliyLx7F0NPDEJi1QmyCgHIAODrlU",
		"AIzaSyD3asb-2pEZVqMkmL6M9N6nHZRR_znhrh0",
		"AIzayDNSXIbFmlXbIE6mCzDLQAqITYefhixbX4A",
		"AIzaSyAdOS2zB6NCsk1pCdZ4-P6GBdi_UUPwX7c",
		"AIzaSyASWm6HmTMdYWpgMnjRBjxcQ9CKctWmLd4",
		"AIzaSyANUvH9H9BsUccjsu2pCmEkOPjjaXeDQgY",
		"AIzaSyA5_iVawFQ8ABuTZNUdcwERLJv_a_p4wtM",
		"AIzaSyA4UrcGxgwQFTfaI3no3t7Lt1sjmdnP5sQ",
		"AIzaSyDSb51JiIcB6OJpwwMicseKRhhrOq1cS7g",
		"AIzaSyBF2RrAIm4a0mO64EShQfqfd2AFnzAvvuU",
		"AIzaSyBcE-OOIbhjyR83gm4r2MFCu4MJmprNXsw",
		"AIzaSyB8qGxt4ec15vitgn44duC5ucxaOi4FmqE",
		"AIzaSyA8vmApnrHNFE0bApF4hoZ11srVL_n0nvY",
		"6fe4476ee5a1832882e326b506d14126":
		return true
	}
	return false
}
