package box_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/box"
	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/internal/test/nobody"
)

// plays are the programs that this test binary is when it is run as one.
var plays = map[string]func(){
	"play-battery": playBattery,
	"play-weaken":  playWeaken,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && plays[os.Args[1]] != nil {
		plays[os.Args[1]]()
		return
	}
	os.Exit(m.Run())
}

func playBattery() {
	var b battery
	if err := json.NewDecoder(os.Stdin).Decode(&b); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(b.attempt())
}

// storm runs the battery of a target inside of a box, or of none, and returns what succeeded.
func (x *target) storm(in proc.Box) []string {
	x.t.Helper()
	orders, err := json.Marshal(x.battery)
	if err != nil {
		x.t.Fatal(err)
	}
	var out, said bytes.Buffer
	r, err := proc.Run(x.t.Context(), proc.Command{
		Argv: []string{self(x.t), "play-battery"}, Dir: x.tree(), Env: append([]string{"HOME=" + x.home(), "TMPDIR=/tmp"}, env...),
		Stdin: bytes.NewReader(orders), Stdout: &out, Stderr: &said, Box: in,
	})
	var succeeded []string
	if err == nil && r.ExitCode == 0 {
		err = json.Unmarshal(out.Bytes(), &succeeded)
	}
	if err != nil || r.ExitCode != 0 {
		x.t.Fatalf("%+v, %v: %s%s", r, err, out.String(), said.String())
	}
	succeeded = append(succeeded, x.traces()...)
	slices.Sort(succeeded)
	return slices.Compact(succeeded)
}

// spec is that of a check: its tree, its home, a toolchain.
func (x *target) spec() box.Spec {
	return box.Spec{Tree: x.tree(), Write: []string{x.home()}, Read: []string{self(x.t), x.path("tools")}}
}

// asBoth runs a test as this user and, where this user is the superuser, as another one.
func asBoth(t *testing.T, test func(t *testing.T)) {
	t.Run("as this user", test)
	t.Run("without privileges", func(t *testing.T) {
		if nobody.Runs(t) {
			test(t)
		}
	})
}

func TestNothingGetsOutOfABox(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		b, x := openBox(t), newTarget(t)
		succeeded := x.storm(b.For(x.spec()))
		t.Logf("%d of %d probes", len(succeeded), len(x.names()))
		if len(succeeded) > 0 {
			t.Errorf("succeeded:\n%s", strings.Join(succeeded, "\n"))
		}
		if n := len(x.names()); n < 100 {
			t.Errorf("only %d probes", n)
		}
	})
}

// The control: the same probes without a box.
func TestWithoutABoxMostGetsOut(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		x := newTarget(t)
		succeeded := x.storm(nil)
		t.Logf("%d of %d probes", len(succeeded), len(x.names()))
		if len(succeeded) < 60 {
			t.Errorf("only %d succeeded:\n%s", len(succeeded), strings.Join(succeeded, "\n"))
		}
		for name := range strings.SplitSeq("set the user bit by chmod, set the user bit by openat2, set the user bit by mknod, set the user bit by a file without a name", ", ") {
			if !slices.Contains(succeeded, name) {
				t.Errorf("%q did not succeed", name)
			}
		}
		if os.Geteuid() == 0 && !slices.Contains(succeeded, "write core_pattern") {
			t.Error("core_pattern cannot be written")
		}
	})
}

// belts are options of the box, by what they are for, and a probe that must succeed without them.
var belts = []struct {
	name, drop, probe string
	root              bool // only the superuser's files make a difference
	untried           bool // the self-test does not try it
}{
	{"the filter", "seccomp", "a netlink socket of other protocols", false, false},
	{"the filter and the last user namespace", "seccomp,userns", "make a user namespace", false, false},
	{"the network namespace", "net", "connect by TCP", false, false},
	{"the process namespace", "pid", "see more processes than its own", false, false},
	{"the namespace of shared memory", "ipc", "attach shared memory of the host", false, true},
	{"the namespace of names", "uts", "know the host's name", false, true},
	{"capabilities and the filter", "caps,seccomp,userns", "have capabilities to gain", true, false},
	{"locks over /proc", "locks", "write core_pattern", true, false},
	{"masks over /proc", "masks", "open the list of keys", false, true},
	{"the repository of the tree", "git", "append runs/trees/this/.git/config", false, false},
	{"the root", "root", "make a file in the root", false, true},
	{"the devices", "dev", "make a file in /dev", false, true},
	{"the view of the file system", "view", "read home/.ssh/id_ed25519", false, false},
}

// weak returns the box without some belts.
func weak(t *testing.T, b *box.Box, belts string) (_ *box.Box, stub string) {
	t.Helper()
	stub = filepath.Join(t.TempDir(), "bwrap")
	write(t, stub, fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && exec '%[2]s' --version\nexec '%[1]s' play-weaken '%[2]s' '%[3]s' \"$@\"\n", self(t), b.Program(), belts), 0o755)
	return b.WithProgram(stub), stub
}

// The option against user namespaces and the filter hold by themselves: TestEveryBeltHolds takes both.
func TestTwoBeltsHoldNamespaces(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		x := newTarget(t)
		other, _ := weak(t, openBox(t), "userns")
		if succeeded := x.storm(other.For(x.spec())); len(succeeded) > 0 {
			t.Errorf("with the filter alone: %q", succeeded)
		}
		other, _ = weak(t, openBox(t), "seccomp")
		if succeeded := x.storm(other.For(x.spec())); slices.Contains(succeeded, "make a user namespace") {
			t.Error("without the filter a user namespace can be made")
		}
	})
}

func TestEveryBeltHolds(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		b := openBox(t)
		for _, belt := range belts {
			if belt.root && os.Geteuid() != 0 {
				continue
			}
			t.Run(belt.name, func(t *testing.T) {
				x := newTarget(t)
				other, stub := weak(t, b, belt.drop)
				_, err := box.Open(t.Context(), box.Config{Path: filepath.Dir(stub)})
				if u, ok := errors.AsType[*box.Unavailable](err); (!ok || u.Cause != box.Leaks) && !belt.untried {
					t.Errorf("the self-test without it: %v", err)
				}
				succeeded := x.storm(other.For(x.spec()))
				t.Logf("%d of %d: %s", len(succeeded), len(x.names()), strings.Join(succeeded, "; "))
				if !slices.Contains(succeeded, belt.probe) {
					t.Errorf("%q did not succeed", belt.probe)
				}
			})
		}
	})
}
