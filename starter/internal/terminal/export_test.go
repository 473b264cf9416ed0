package terminal

// DecodeKeys returns the keys of what a person types.
func DecodeKeys(typed string) []Key {
	var d decoder
	return append(d.decode([]byte(typed)), d.decode(nil)...)
}
