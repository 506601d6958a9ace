//go:build wasip1

package sdk

func sprintf(text string, args ...any) string { return format(text, args...) }
