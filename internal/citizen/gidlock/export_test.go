package gidlock

// At returns l with a function that is told of every step.
func (l Locks) At(f func(step string)) Locks {
	l.at = f
	return l
}
