package terminal

// DecodeKeys returns the keys of what a person types.
func DecodeKeys(typed string) []Key {
	var d decoder
	return append(d.decode([]byte(typed)), d.decode(nil)...)
}

// ReadOnce reads as the goroutine of the keyboard does.
func (k *Keyboard) ReadOnce() (int, error) { return k.readSome(make([]byte, 8)) }
