package box

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ratchet-dev/ratchet/internal/box/inner"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// The descriptors of bwrap.
const (
	argsFD = 3 + iota
	statusFD
	filterFD
	fenceFD // only with a fence: bwrap would hand on what it does not use; the copies follow
)

// entry is a box with a spec.
type entry struct {
	box  *Box
	spec Spec
	name string // the program is our own executable under this name; empty means that it is not
}

// For returns the box for programs of a spec. Each program is a box of its own. It returns nil for a
// nil box, so that the program is in none.
func (b *Box) For(s Spec) proc.Box {
	if b == nil {
		return nil
	}
	return entry{box: b, spec: s}
}

// Enclose implements [proc.Box].
func (e entry) Enclose(argv []string, dir string, env []string) (_ *proc.Enclosure, err error) {
	in, err := e.prepareSpec(argv, dir, env)
	if err != nil {
		return nil, err
	}
	r := &running{made: madeByMounts(in.mounts)}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := r.openGroup(e.box.groups, e.box.limits); err != nil {
		return nil, err
	}
	argv, err = e.openFiles(r, in)
	if err != nil {
		return nil, err
	}
	return &proc.Enclosure{
		Argv:   argv,
		Files:  r.files,
		Limits: r.limits,
		Ended:  r.ended,
		Close:  r.close,
	}, nil
}

// prepareSpec checks the spec and the program.
func (e entry) prepareSpec(argv []string, dir string, env []string) (inside, error) {
	if _, err := os.Stat(e.box.own); err != nil && (e.name != "" || len(e.spec.Overlays) > 0 || e.spec.Egress != nil || e.spec.Bridge != "") {
		return inside{}, fmt.Errorf("the program of this worker was removed or replaced: restart the worker: %w", err)
	}
	links := resolver{}
	mounts, err := e.spec.mounts(e.box.home, e.box.runs, links)
	if err != nil {
		return inside{}, err
	}
	in := inside{mounts: mounts, egress: e.spec.Egress, bridge: e.spec.Bridge, own: e.box.own, disk: e.box.limits.disk, fence: fenceFD, dir: dir, env: env, argv: argv}
	in.dir = cmp.Or(in.dir, e.spec.Tree)
	if !filepath.IsAbs(in.dir) || !e.showsPath(mounts, links, in.dir) {
		return inside{}, fmt.Errorf("working directory %q is not in the sandbox", in.dir)
	}
	if e.name != "" {
		in.names, in.argv = append(in.names, e.name), append([]string{OwnDirectory + e.name}, argv[1:]...)
	} else if !e.showsPath(mounts, links, argv[0]) {
		return inside{}, fmt.Errorf("program %s is not in the sandbox: name its directory", argv[0])
	}
	if len(e.spec.Overlays) > 0 && !e.box.overlay {
		return inside{}, errors.New("this machine has no overlays for a sandbox")
	}
	if e.spec.Egress != nil {
		in.names = append(in.names, e.spec.Egress.Forwarder)
	}
	if e.spec.Bridge != "" {
		in.names = append(in.names, inner.BridgeWord)
	}
	return in, nil
}

// showsPath reports whether a path of the host is the same file inside.
func (e entry) showsPath(mounts []mount, links resolver, path string) bool {
	real, err := links.resolve(path)
	if err != nil {
		return false
	}
	seen := append([]string{"/usr"}, e.box.host.dirs...)
	for _, m := range mounts {
		if to, err := links.resolve(m.to); err == nil && (m.kind == readOnly || m.kind == writable) {
			seen = append(seen, m.to, to)
		}
	}
	top := slices.ContainsFunc(slices.Collect(maps.Keys(e.box.host.links)), func(name string) bool { return isUnder(path, "/"+name) })
	return underAny(real, seen...) && (top || underAny(path, seen...))
}

// running is what one enclosure holds.
type running struct {
	group  *group
	limits proc.Limits
	files  []*os.File // of bwrap, from argsFD on
	report *os.File   // read end of the status
	err    error      // the first one of the files
	made   []string
}

func (r *running) openGroup(g *groups, l limits) (err error) {
	r.limits.FileSize = l.disk
	if g == nil {
		return nil
	}
	if r.group, err = g.make(l); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	r.limits = r.group.Limits
	return nil
}

// joinArgs writes options as bwrap reads them from a descriptor.
func joinArgs(args []string) []byte {
	var text bytes.Buffer
	for _, arg := range args {
		text.WriteString(arg)
		text.WriteByte(0)
	}
	return text.Bytes()
}

// openFiles opens the descriptors of bwrap and returns its command.
func (e entry) openFiles(r *running, in inside) ([]string, error) {
	fenced := slices.ContainsFunc(in.mounts, func(m mount) bool { return m.kind == fence })
	next := fenceFD
	if fenced {
		next++
	}
	small := r.openCopies(&in, e.box.host.copies, next)
	r.passMemory("box-args", joinArgs(args(e.box.host, in)))
	r.passStatus()
	r.passMemory("box-filter", e.box.filter)
	if fenced {
		r.passMemory("box-fence", []byte(fenceText))
	}
	r.files = append(r.files, small...)
	argv := []string{e.box.program, "--args", fmt.Sprint(argsFD), "--json-status-fd", fmt.Sprint(statusFD), "--seccomp", fmt.Sprint(filterFD), "--"}
	argv = append(argv, in.command()...)
	if len(e.spec.Overlays) > 0 {
		r.passMemory("box-outer-args", joinArgs(mountSpace))
		argv = e.mountFirst(argv, argsFD+len(r.files)-1)
	}
	return argv, r.err
}

// openCopies opens the files that bwrap copies, whose descriptors begin with first. It leaves out a file that
// is gone since the box was opened.
func (r *running) openCopies(in *inside, paths []string, first int) (opened []*os.File) {
	for _, path := range paths {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			r.err = errors.Join(r.err, err)
			continue
		}
		if path == hostsFile {
			f = r.withBoxName(f)
		}
		if f == nil {
			continue
		}
		in.copies = append(in.copies, copied{to: path, fd: first + len(opened)})
		opened = append(opened, f)
	}
	return opened
}

// hostsFile holds the addresses of host names.
const hostsFile = "/etc/hosts"

// withBoxName returns an unnamed file with the machine's hosts and the host name of the box. Java and other programs look
// up their own host when they start.
func (r *running) withBoxName(hosts *os.File) *os.File {
	defer hosts.Close()
	text, err := io.ReadAll(io.LimitReader(hosts, copyLimit))
	if err != nil {
		r.err = errors.Join(r.err, err)
		return nil
	}
	return r.newMemory("box-hosts", fmt.Appendf(endLine(text), "127.0.0.1 %s\n", inner.BoxName))
}

// endLine returns text with a line feed at its end.
func endLine(text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return text
	}
	return append(text, '\n')
}

// passStatus opens the pipe of the status.
func (r *running) passStatus() {
	if r.err != nil {
		return
	}
	report, status, err := os.Pipe()
	if r.err = err; err == nil {
		r.report, r.files = report, append(r.files, status)
	}
}

// passMemory opens a file without a name that holds b.
func (r *running) passMemory(name string, b []byte) {
	if f := r.newMemory(name, b); f != nil {
		r.files = append(r.files, f)
	}
}

// newMemory returns a file without a name that holds b; nil after an error, which r keeps.
func (r *running) newMemory(name string, b []byte) *os.File {
	if r.err != nil {
		return nil
	}
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		r.err = fmt.Errorf("memfd: %w", err)
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	if _, r.err = f.Write(b); r.err == nil {
		_, r.err = f.Seek(0, io.SeekStart)
	}
	return f
}

// reportDelay is the time for reading a status that is there, by a worker that gets no turn.
const reportDelay = 10 * time.Second

// ErrNotBegun means that the sandbox was not set up, and that the program in it never ran.
var ErrNotBegun = errors.New("the sandbox was not set up")

// ended implements the member of [proc.Enclosure]. bwrap says by its status that the program ran, and
// its exit code, which comes from the kernel, says how it ended.
func (r *running) ended(exitCode int) (cause string, err error) {
	for _, f := range r.files {
		f.Close()
	}
	r.report.SetReadDeadline(time.Now().Add(reportDelay)) // all writers are gone
	text, _ := io.ReadAll(io.LimitReader(r.report, 64<<10))
	if r.group != nil {
		cause = r.group.cause()
	}
	code, ok := exitStatus(text)
	switch {
	case !ok:
		return cause, ErrNotBegun
	case code != exitCode:
		return cause, fmt.Errorf("bwrap ended with exit code %d, but reported %d", exitCode, code)
	}
	return cause, nil
}

// exitStatus returns the exit code in a status of bwrap. There is none when the program never
// ran.
func exitStatus(text []byte) (code int, ok bool) {
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var said struct {
			ExitCode *int `json:"exit-code"`
		}
		if dec.Decode(&said) != nil {
			return code, ok
		}
		if said.ExitCode != nil {
			code, ok = *said.ExitCode, true
		}
	}
}

// close releases everything.
func (r *running) close() {
	for _, f := range append(r.files, r.report) {
		if f != nil {
			f.Close()
		}
	}
	if r.group != nil {
		r.group.close()
	}
	for _, path := range r.made {
		if info, err := os.Lstat(path); err == nil && info.Mode() == 0o444 && info.Size() == 0 {
			os.Remove(path)
		}
	}
}

// madeByMounts returns the paths at which bwrap makes an empty file outside, or may make one, because a mount needs a
// place.
func madeByMounts(mounts []mount) (made []string) {
	for _, m := range mounts {
		_, err := os.Lstat(m.to)
		if m.kind == fence && errors.Is(err, fs.ErrNotExist) || m.kind == cover { // its socket may be removed meanwhile
			made = append(made, m.to)
		}
	}
	return made
}
