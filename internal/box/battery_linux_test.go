package box_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// battery is what a program tries against the host. Its members are the groups of probes; the program
// says which succeed. What the host can see for itself, [target.trace] judges.
type battery struct {
	Writes  []write1
	Reads   []read1
	Dials   []dial1
	Worker  int // a process of the worker's user outside
	Host    string
	Memory  int    // the id of a segment of shared memory outside
	Canary  string // what a read must find
	Tree    string
	Allowed []string // names of variables
}

// write1 is a change of a file outside. The host judges it.
type write1 struct{ Name, How, Path string }

// read1 is a file outside that holds the canary.
type read1 struct{ Name, Path string }

// dial1 is a listener outside. The host judges it where Judged is set.
type dial1 struct {
	Name    string
	Family  int
	Kind    int
	Proto   int
	Address string // an IP address, or the path of a Unix socket
	Port    int
	Judged  bool
}

// probe is one attempt whose outcome the program itself sees.
type probe struct {
	name string
	try  func(b battery) error
}

// names returns the names of all probes.
func (b battery) names() (names []string) {
	for _, w := range b.Writes {
		names = append(names, w.Name)
	}
	for _, r := range b.Reads {
		names = append(names, r.Name)
	}
	for _, d := range b.Dials {
		names = append(names, d.Name)
	}
	for _, p := range probes {
		names = append(names, p.name)
	}
	return names
}

// attempt tries everything and returns the names of what succeeded by the program's own judgement.
func (b battery) attempt() (succeeded []string) {
	for _, w := range b.Writes {
		w.try()
	}
	for _, r := range b.Reads {
		if text, err := os.ReadFile(r.Path); err == nil && strings.Contains(string(text), b.Canary) {
			succeeded = append(succeeded, r.Name)
		}
	}
	for _, d := range b.Dials {
		if d.try() == nil && !d.Judged {
			succeeded = append(succeeded, d.Name)
		}
	}
	for _, p := range probes {
		if p.try(b) == nil {
			succeeded = append(succeeded, p.name)
		}
	}
	return succeeded
}

// planted is what a write leaves.
const planted = "planted by a probe\n"

func (w write1) try() {
	switch w.How {
	case "append":
		if f, err := os.OpenFile(w.Path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
			f.WriteString(planted)
			f.Close()
		}
	case "create":
		os.WriteFile(w.Path, []byte(planted), 0o644)
	case "truncate":
		os.Truncate(w.Path, 0)
	case "remove":
		os.RemoveAll(w.Path)
	case "chmod":
		os.Chmod(w.Path, 0o777)
	case "replace":
		if os.WriteFile(w.Path+"~", []byte(planted), 0o644) == nil {
			os.Rename(w.Path+"~", w.Path)
		}
	case "link": // through a link that the program itself lays
		link := "link-" + strconv.Itoa(os.Getpid())
		if os.Symlink(w.Path, link) == nil {
			os.WriteFile(link, []byte(planted), 0o644)
			os.Remove(link)
		}
	}
}

func (d dial1) try() error {
	fd, err := syscall.Socket(d.Family, d.Kind|syscall.SOCK_CLOEXEC, d.Proto)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var to syscall.Sockaddr
	switch d.Family {
	case syscall.AF_UNIX:
		to = &syscall.SockaddrUnix{Name: d.Address}
	case syscall.AF_INET6:
		to = &syscall.SockaddrInet6{Port: d.Port, Addr: [16]byte{15: 1}}
	default:
		var ip [4]byte
		for i, part := range strings.Split(d.Address, ".") {
			n, _ := strconv.Atoi(part)
			ip[i] = byte(n)
		}
		to = &syscall.SockaddrInet4{Port: d.Port, Addr: ip}
	}
	if err := syscall.Connect(fd, to); err != nil {
		return err
	}
	if d.Judged {
		_, err = syscall.Write(fd, []byte("x"))
	}
	return err
}
