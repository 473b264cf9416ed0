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
	Secret   string // a file to read
	Victim   string // a file to write
	Tree     string // the work tree, whose .git/config is there to be written
	TCP      string // the port of a listener on 127.0.0.1
	UDP      string
	Abstract string // the name of an abstract Unix socket, without its first byte
	Socket   string // the path of a Unix socket
	Worker   string // the process id of the worker
	Host     string // the name of the host
	Memory   string // the id of a segment of System V shared memory
	Allowed  string // the names of the variables that the program may have, separated by commas
}

// NeighbourSuffix follows the name of the victim in the name of the file that is made beside it.
const NeighbourSuffix = ".new"

// Args returns the arguments.
func (w World) Args() []string {
	return []string{w.Secret, w.Victim, w.Tree, w.TCP, w.UDP, w.Abstract, w.Socket, w.Worker, w.Host, w.Memory, w.Allowed}
}

// ReadWorld reads the arguments. ok is false when there are too few.
func ReadWorld(args []string) (w World, ok bool) {
	fields := []*string{&w.Secret, &w.Victim, &w.Tree, &w.TCP, &w.UDP, &w.Abstract, &w.Socket, &w.Worker, &w.Host, &w.Memory, &w.Allowed}
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

// Done is the last line of a probe that has tried every attack. Without it the silence about an
// attack proves nothing.
const Done = "done"
