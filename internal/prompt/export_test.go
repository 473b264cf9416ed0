package prompt

// Flatten returns the whole prompt in one text.
func (p Prompt) Flatten() string {
	return "[SYSTEM]\n\n" + p.System + "\n[USER]\n\n" + p.Message()
}
