package box

// Program returns the path of bwrap.
func (b *Box) Program() string { return b.program }

// WithProgram returns the box with another program in the place of bwrap, which nothing has tested.
func (b *Box) WithProgram(path string) *Box {
	other := *b
	other.program = path
	return &other
}

// WithGroups returns the box with control groups that are made in other directories.
func (b *Box) WithGroups(memory, pids string) *Box {
	other := *b
	other.groups = &groups{memory: memory, pids: pids, ownMemory: memory, ownPids: pids}
	return &other
}

// WithLimits returns the box with other limits, in bytes but for the processes.
func (b *Box) WithLimits(memory, processes, disk int64) *Box {
	other := *b
	other.limits = limits{memory, processes, disk}
	return &other
}

// WithOwn returns the box with another path of our executable.
func (b *Box) WithOwn(path string) *Box {
	other := *b
	other.own = path
	return &other
}
