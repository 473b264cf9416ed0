package mailbox

// At returns m with a function that is told of every step.
func (m Mailboxes) At(f func(step string)) Mailboxes {
	m.at = f
	return m
}
