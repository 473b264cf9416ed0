package hosts_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/version"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// home is a machine with an engine that returns each line, and a door before it.
type home struct {
	*testing.T
	dir, listen string
	engine      *engine.Engine
}

func newHome(t *testing.T) home {
	h := home{T: t, dir: t.TempDir(), listen: listenFree(t)}
	key, err := engine.MakeKey(h.dir)
	must(t, err)
	own := key.TLS()
	own.ClientCAs, own.ClientAuth, own.NextProtos = own.RootCAs, tls.RequireAndVerifyClientCert, []string{"h2"}
	l, err := tls.Listen("tcp", "127.0.0.1:0", own)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	h.engine = &engine.Engine{Address: l.Addr().String(), Key: key}
	d := hosts.Open(h.dir, hosts.OfEngine(h.engine), slog.New(slog.DiscardHandler))
	t.Cleanup(d.Stop)
	return h
}

// listenFree returns an address of this machine at which nothing listens.
func listenFree(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// code invites a host at a time, and waits until the door is open.
func (h home) code(at time.Time) hosts.Code {
	h.Helper()
	secret, err := hosts.Invite(h.Context(), h.dir, h.listen, at)
	must(h.T, err)
	if at.After(time.Now().Add(-hosts.CodeLife)) {
		must(h.T, hosts.Await(h.Context(), h.listen, h.engine.Key))
	}
	return hosts.NewCode(h.listen, secret, h.engine.Key)
}

func (h home) names() (names []string) {
	h.Helper()
	b, err := hosts.Read(h.dir)
	must(h.T, err)
	for _, host := range b.Hosts {
		names = append(names, host.Name)
	}
	return names
}

func survey() hosts.Survey { return hosts.Survey{Version: version.Read().Version} }

// joined returns the runs directory of a host that has joined by a name.
func (h home) joined(name string) string {
	h.Helper()
	dir := h.TempDir()
	_, err := hosts.Join(h.Context(), dir, h.code(time.Now()), name, survey())
	must(h.T, err)
	return dir
}

// reach sends a line to the engine through the door, and returns the connection once it has come back.
func reach(ctx context.Context, address string, config *tls.Config) (net.Conn, error) {
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err = io.WriteString(conn, "hello\n"); err == nil {
		var line string
		if line, err = bufio.NewReader(conn).ReadString('\n'); err == nil && line != "hello\n" {
			err = fmt.Errorf("got %q", line)
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (h home) reachAs(dir string) (net.Conn, error) {
	_, config, err := hosts.ReadHome(dir)
	must(h.T, err)
	return reach(h.Context(), h.listen, config)
}

// A host joins by a code, reaches the engine then and later without a code, and is cut off when it is removed, with the
// connections that it has.
func TestJoinAndRemove(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if _, err := net.Dial("tcp", h.listen); err == nil {
		t.Error("the door is open before anybody is invited")
	}
	dir, other := h.joined("b"), h.joined("c")
	conn, err := h.reachAs(dir)
	must(t, err)
	defer conn.Close()
	stays, err := h.reachAs(other)
	must(t, err)
	defer stays.Close()
	w, presence, err := hosts.Greet(t.Context(), dir, survey())
	must(t, err)
	if w.Name != "b" {
		t.Errorf("greeted as %q, want b", w.Name)
	}
	must(t, hosts.Remove(t.Context(), h.dir, "b"))
	if refused, ok := errors.AsType[*hosts.RefusedError](presence.Await(t.Context())); !ok || !strings.Contains(refused.Error(), "removed") {
		t.Errorf("the host was told %v, want that it was removed", refused)
	}
	if n, err := conn.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes from the engine after the removal", n)
	} else if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		t.Error("the connection to the engine stayed open after the removal")
	}
	if _, err := h.reachAs(dir); err == nil {
		t.Error("the removed host reaches the engine")
	}
	if _, _, err := hosts.Greet(t.Context(), dir, survey()); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("the removed host greets: %v, want that it was removed", err)
	}
	if _, err := fmt.Fprintln(stays, "again"); err != nil {
		t.Errorf("the connection of the other host: %v", err)
	}
	if line, err := bufio.NewReader(stays).ReadString('\n'); line != "again\n" {
		t.Errorf("the other host got %q, %v", line, err)
	}
	// The last host was away. It is told, too, before the door closes.
	must(t, hosts.Remove(t.Context(), h.dir, "c"))
	if _, _, err := hosts.Greet(t.Context(), other, survey()); err == nil || !strings.Contains(err.Error(), "removed") {
		t.Errorf("the host that was away greets: %v, want that it was removed", err)
	}
	book, err := hosts.Read(h.dir)
	must(t, err)
	for hours, want := range map[int]bool{23: true, 25: false} {
		if got := book.Open(time.Now().Add(time.Duration(hours) * time.Hour)); got != want {
			t.Errorf("%d hours later the door is open: %v, want %v", hours, got, want)
		}
	}
}

// What opens the door to nobody. Each row ends with the same call as the control, by what the wall asks for.
func TestWhoIsNotLetIn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	friend := h.joined("friend")
	join := func(c hosts.Code, name string) error {
		_, err := hosts.Join(t.Context(), t.TempDir(), c, name, survey())
		return err
	}
	want := func(what string, err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", what, err, text)
		}
	}
	_, known, err := hosts.ReadHome(friend)
	must(t, err)

	none := known.Clone()
	none.Certificates = nil
	_, err = reach(t.Context(), h.listen, none)
	want("no certificate", err, "certificate required")

	strange := known.Clone()
	key, err := engine.MakeHostKey(t.TempDir())
	must(t, err)
	strange.Certificates = []tls.Certificate{key.Pair()}
	_, err = reach(t.Context(), h.listen, strange)
	want("a certificate that is not in the book", err, "bad certificate")

	_, err = reach(t.Context(), h.engine.Address, known.Clone())
	want("the certificate of a host at the engine itself", err, "tls: ")

	conn, err := reach(t.Context(), h.listen, known.Clone()) // the control
	must(t, err)
	conn.Close()

	guessed := h.code(time.Now())
	_, _ = rand.Read(guessed.Secret[:])
	want("a guessed code", join(guessed, "guess"), "not known")

	late := h.code(time.Now().Add(-hosts.CodeLife - time.Minute))
	want("a late code", join(late, "late"), "ended")

	twice := h.code(time.Now())
	must(t, join(twice, "first"))
	want("a code that was used", join(twice, "second"), "used already")

	taken := h.code(time.Now())
	want("a name that another host has", join(taken, "friend"), "another name")
	own, err := os.Hostname()
	must(t, err)
	want("the name of the home machine", join(taken, hosts.NameOf(own)), "home machine")
	must(t, join(taken, "another")) // the code was not used up

	old := h.code(time.Now())
	_, err = hosts.Join(t.Context(), t.TempDir(), old, "old", hosts.Survey{Version: "0.0.1"})
	want("another version", err, `has Ratchet "0.0.1"`)
	must(t, join(old, "new"))

	if got, want := strings.Join(h.names(), " "), "friend first another new"; got != want {
		t.Errorf("the book has %q, want %q", got, want)
	}
}

// Somebody in between has another certificate. It learns no code, which the control shows: with its digest it would.
func TestSomebodyInBetweenLearnsNoCode(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	key, err := engine.MakeKey(t.TempDir())
	must(t, err)
	config := key.TLS()
	config.ClientAuth, config.NextProtos = tls.RequireAnyClientCert, []string{"ratchet-host/1"}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	must(t, err)
	defer l.Close()
	heard := make(chan int)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n, _ := conn.Read(make([]byte, 1024))
			conn.Close()
			heard <- n
		}
	}()
	code := h.code(time.Now())
	code.Address = l.Addr().String()
	if _, err := hosts.Join(t.Context(), t.TempDir(), code, "b", survey()); err == nil || !strings.Contains(err.Error(), "not the engine of this code") {
		t.Errorf("got %v, want that it is not the engine", err)
	}
	if n := <-heard; n != 0 {
		t.Errorf("it heard %d bytes", n)
	}
	pinned := hosts.NewCode(code.Address, code.Secret, key)
	_, _ = hosts.Join(t.Context(), t.TempDir(), pinned, "b", survey())
	if n := <-heard; n == 0 {
		t.Error("the control: with the digest of its own certificate it heard nothing")
	}
}

// One address holds few connections that are not known, and none for long. Hosts get in all the same.
func TestStrangersHoldFewConnections(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	dir := h.joined("b")
	ended := make(chan struct{}, 100)
	for range 40 {
		conn, err := net.Dial("tcp", h.listen)
		must(t, err)
		defer conn.Close()
		go func() {
			_, _ = io.Copy(io.Discard, conn)
			ended <- struct{}{}
		}()
	}
	for range 30 { // the others wait for the end of their time
		<-ended
	}
	eventually.Holds(t, "a host gets in after the strangers' time", func() bool {
		conn, err := h.reachAs(dir)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func TestCodesAsText(t *testing.T) {
	key, err := engine.MakeKey(t.TempDir())
	must(t, err)
	code := hosts.NewCode("10.0.0.5:7243", [20]byte{1, 2, 3}, key)
	if got, err := hosts.ParseCode(code.String()); err != nil || got != code {
		t.Errorf("got %+v, %v, want %+v", got, err, code)
	}
	for _, text := range []string{"", "x", code.String()[:60], strings.Replace(code.String(), "https", "http", 1), "https://h#" + strings.Repeat("A", 70)} {
		if _, err := hosts.ParseCode(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestNamesOfHosts(t *testing.T) {
	for hostname, want := range map[string]string{"laptop": "laptop", "Kim's MacBook.local": "kim-s-macbook.local", "": "host", "-": "host", strings.Repeat("x", 80): "host"} {
		if got := hosts.NameOf(hostname); got != want {
			t.Errorf("%q: got %q, want %q", hostname, got, want)
		}
	}
}

func TestSkewsThatAreTold(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Hour: "1h0m0s ahead", -time.Hour: "1h0m0s behind", 20 * time.Second: ""} {
		if got := hosts.DescribeSkew(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

// A host whose clock is off by an hour is told of, by the book and so by the list of hosts.
func TestAClockThatIsOff(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	_, config, err := hosts.ReadHome(h.joined("b"))
	must(t, err)
	config.NextProtos = []string{"ratchet-host/1"}
	conn, err := tls.Dial("tcp", h.listen, config)
	must(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, `{"time":%q,"survey":{"version":%q}}`+"\n", time.Now().Add(time.Hour).Format(time.RFC3339), version.Read().Version)
	must(t, err)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	must(t, err)
	b, err := hosts.Read(h.dir)
	must(t, err)
	if got := hosts.DescribeSkew(b.Hosts[0].Skew.Round(time.Minute)); got != "1h0m0s ahead" {
		t.Errorf("the book has a skew of %q after the answer %s, want 1h0m0s ahead", got, answer)
	}
}
