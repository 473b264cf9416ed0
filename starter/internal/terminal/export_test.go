package terminal

// DecodeKeys returns the keys of what a person types.
func DecodeKeys(typed string) []Key {
	var d decoder
	return append(d.decode([]byte(typed)), d.decode(nil)...)
}

// DecodeLater returns the keys of what is typed after so many reads without a byte.
func DecodeLater(before string, reads int, typed string) []Key {
	var d decoder
	d.decode([]byte(before))
	for range reads {
		d.decode(nil)
	}
	return d.decode([]byte(typed))
}

// ReadOnce reads as the goroutine of the keyboard does.
func (k *Keyboard) ReadOnce() (int, error) { return k.readSome(make([]byte, 8)) }
