// Package inner is what our own executable is inside of a box, or on the way into it. Like package
// supervisor it takes over in its init, by the name or the word that it is started with, and imports
// few packages for the same reason.
package inner

// ProbeName is the name of our executable as the program that attacks the box from inside.
const ProbeName = "probe"

// OverlayWord is the first argument of our executable as the program that mounts overlays before the
// box is made.
const OverlayWord = "ratchet-mount-overlays"

// World is what the attacks of [ProbeName] aim at outside of the box. Its fields travel as arguments,
// in this order.
type World struct {
	File    string // of the user, to be read and written
	Tree    string // the work tree, whose .git/config is there to be written
	TCP     string // the port of a listener on 127.0.0.1
	Socket  string // the path of a Unix socket
	Worker  string // the process id of the worker
	Allowed string // the names of the variables that the program may have, separated by commas
}

// Args returns the arguments.
func (w World) Args() []string {
	return []string{w.File, w.Tree, w.TCP, w.Socket, w.Worker, w.Allowed}
}

// ReadWorld reads the arguments. ok is false when there are too few.
func ReadWorld(args []string) (w World, ok bool) {
	fields := []*string{&w.File, &w.Tree, &w.TCP, &w.Socket, &w.Worker, &w.Allowed}
	if len(args) != len(fields) {
		return w, false
	}
	for i, f := range fields {
		*f = args[i]
	}
	return w, true
}

// BoxName is the host name in a box.
const BoxName = "box"

// Done is the last line of a probe that has tried every attack and run a shell. Without it the silence about an attack
// proves nothing.
const Done = "done"
