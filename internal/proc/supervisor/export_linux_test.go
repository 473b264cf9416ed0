package supervisor

import "time"

// KeepListed lets tests call what older kernels need.
var KeepListed = keepListed

// KillChildren kills the children of this process, as a supervisor does when its program has ended.
func KillChildren(limit time.Duration) (left int) {
	t := tree{ended: true}
	return t.kill(limit)
}

// ListedChildren returns how many children the list of the first thread has.
func ListedChildren() int { return len(listedChildren()) }
