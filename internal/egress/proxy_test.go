package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/allow"
	"github.com/ratchet-dev/ratchet/internal/egress"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
)

// origin is a server of loopback that counts the connections that reach it.
type origin struct {
	*httptest.Server
	connections atomic.Int64
}

func newOrigin(t testing.TB, handler http.HandlerFunc) *origin {
	t.Helper()
	o := &origin{}
	o.Server = httptest.NewUnstartedServer(handler)
	o.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			o.connections.Add(1)
		}
	}
	o.Start()
	t.Cleanup(o.Close)
	return o
}

func (o *origin) address() string { return o.Listener.Addr().String() }
func (o *origin) port() string    { return o.address()[strings.LastIndexByte(o.address(), ':')+1:] }

func open(t testing.TB, c egress.Config, targets ...string) *egress.Proxy {
	t.Helper()
	for _, text := range targets {
		target, err := allow.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.Targets = append(c.Targets, target)
	}
	p, err := egress.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func dial(t testing.TB, p *egress.Proxy) *net.UnixConn {
	t.Helper()
	conn, err := net.Dial("unix", p.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.UnixConn)
}

// ask sends raw bytes, and returns the codes of all answers and the last body.
func ask(t *testing.T, p *egress.Proxy, raw string) (codes []int, body string) {
	t.Helper()
	conn := dial(t, p)
	go func() { // the proxy may answer before it has read all
		io.WriteString(conn, raw)
		conn.CloseWrite()
	}()
	for r := bufio.NewReader(conn); ; {
		res, err := http.ReadResponse(r, &http.Request{Method: strings.Fields(raw)[0]})
		if err != nil {
			return codes, body
		}
		text, _ := io.ReadAll(res.Body)
		codes, body = append(codes, res.StatusCode), string(text)
	}
}

// tunnel returns a connection that is a tunnel to the target.
func tunnel(t testing.TB, p *egress.Proxy, target string) *net.UnixConn {
	t.Helper()
	conn := dial(t, p)
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	head := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(conn, head); err != nil || !strings.HasPrefix(string(head), "HTTP/1.1 200") {
		t.Fatalf("CONNECT %s: %q, %v", target, head, err)
	}
	return conn
}

func resolveTo(addrs ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		var all []netip.Addr
		for _, a := range addrs {
			all = append(all, netip.MustParseAddr(a))
		}
		return all, nil
	}
}

func TestOneTargetAndNoWayAround(t *testing.T) {
	secret := newOrigin(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "secret") })
	var seen atomic.Pointer[http.Request]
	good := newOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r)
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, secret.URL, http.StatusFound)
			return
		}
		io.WriteString(w, "good")
	})
	p := open(t, egress.Config{Lookup: resolveTo("127.0.0.1")}, good.address(), "name.example:"+good.port(), "rebound.example:"+secret.port())
	G, S, gp, sp := good.address(), secret.address(), good.port(), secret.port()
	connect := func(target, headers string) string { return "CONNECT " + target + " HTTP/1.1\r\n" + headers + "\r\n" }
	get := func(url, headers string) string { return "GET " + url + " HTTP/1.1\r\n" + headers + "\r\n" }
	host := func(h string) string { return "Host: " + h + "\r\n" }
	around := map[string]struct {
		raw  string
		code int
	}{
		"another port":                         {connect(S, host(S)), 403},
		"another port behind a Host header":    {connect(S, host(G)), 403},
		"an address for its name":              {connect("127.0.0.1:"+sp, host("rebound.example:"+sp)), 403},
		"a name that leads to loopback":        {connect("rebound.example:"+sp, host("rebound.example:"+sp)), 403},
		"the same in plain HTTP":               {get("http://rebound.example:"+sp+"/", host("rebound.example:"+sp)), 403},
		"the allowed address by another name":  {connect("name.example:"+gp, host(G)), 403},
		"localhost":                            {connect("localhost:"+gp, host(G)), 403},
		"IPv6":                                 {connect("[::1]:"+gp, host(G)), 403},
		"IPv4 in IPv6":                         {connect("[::ffff:127.0.0.1]:"+gp, host(G)), 403},
		"a short address":                      {connect("127.1:"+gp, host(G)), 403},
		"a decimal address":                    {connect("2130706433:"+gp, host(G)), 403},
		"a hexadecimal address":                {connect("0x7f000001:"+gp, host(G)), 403},
		"an address with a zero":               {connect("127.0.0.01:"+gp, host(G)), 403},
		"the address of no host":               {connect("0.0.0.0:"+gp, host(G)), 403},
		"metadata":                             {connect("169.254.169.254:80", host(G)), 403},
		"a last dot":                           {connect("rebound.example.:"+sp, host(G)), 403},
		"upper case":                           {connect("REBOUND.example:"+sp, host(G)), 403},
		"a user name":                          {connect("user@"+G, host(G)), 403},
		"a user name that is the target":       {connect(G+"@"+S, host(G)), 403},
		"a port with a zero":                   {connect("127.0.0.1:0"+gp, host(G)), 403},
		"no port":                              {connect("127.0.0.1", host(G)), 403},
		"a path":                               {connect("/"+G, host(G)), 403},
		"a scheme":                             {connect("http://"+S+"/", host(G)), 403},
		"plain HTTP to another port":           {get("http://"+S+"/", host(G)), 403},
		"plain HTTP by a user name":            {get("http://"+G+"@"+S+"/", host(G)), 403},
		"plain HTTP by a user name of a name":  {get("http://name.example@"+S+"/", host(G)), 403},
		"plain HTTP with a user":               {get("http://user:password@"+G+"/", host(G)), 403},
		"an escaped colon":                     {get("http://127.0.0.1%3a"+sp+"/", host(G)), 400},
		"a scheme that is not plain":           {get("https://"+G+"/", host(G)), 403},
		"a file":                               {get("file:///etc/passwd", host(G)), 403},
		"a scheme in upper case to another":    {get("HTTP://"+S+"/", host(G)), 403},
		"no target but a Host header":          {get("/", host(S)), 403},
		"two slashes":                          {get("//"+S+"/", host(S)), 403},
		"a fragment":                           {get("http://"+S+"/#http://"+G+"/", host(G)), 403},
		"a backslash":                          {get("http://"+S+"\\@"+G+"/", host(G)), 400},
		"two Host headers":                     {connect(G, host(G)+host(S)), 400},
		"two lengths":                          {"POST http://" + G + "/ HTTP/1.1\r\n" + host(G) + "Content-Length: 1\r\nContent-Length: 60\r\n\r\n" + get("http://"+S+"/", host(S)), 400},
		"a space before the colon of a header": {get("http://"+G+"/", "Host : "+S+"\r\n"), 400},
		"a header on two lines":                {get("http://"+G+"/", "Host:\r\n "+S+"\r\nX Y: z\r\n"), 400},
		"a NUL in a header":                    {get("http://"+G+"/", host(G)+"X: a\x00b\r\n"), 400},
		"a huge header":                        {get("http://"+G+"/", host(G)+"X: "+strings.Repeat("x", 1<<20)+"\r\n"), 431},
		"a huge line":                          {get("http://"+G+"/"+strings.Repeat("x", 1<<20), host(G)), 431},
		"HTTP/2":                               {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403},
		"an asterisk":                          {"OPTIONS * HTTP/1.1\r\n" + host(S) + "\r\n", 403},
	}
	for name, tt := range around {
		t.Run(name, func(t *testing.T) {
			codes, body := ask(t, p, tt.raw)
			if len(codes) != 1 || codes[0] != tt.code {
				t.Errorf("got %d, %q, want %d", codes, body, tt.code)
			}
		})
	}
	ordinary := good.connections.Load()
	if n := secret.connections.Load() + ordinary; n != 0 {
		t.Errorf("%d connections came through", n)
	}
	for name, tt := range map[string]struct {
		raw   string
		codes string
	}{
		"a request":                          {get("http://"+G+"/", host(G)), "[200]"},
		"a Host header that differs":         {get("http://"+G+"/", host(S)), "[200]"},
		"no Host by a Connection header":     {get("http://"+G+"/", host(G)+"Connection: Host, X-A\r\nX-A: 1\r\n"), "[200]"},
		"a redirect":                         {get("http://"+G+"/redirect", host(G)), "[302]"},
		"a change of protocol":               {get("http://"+G+"/", host(G)+"Connection: Upgrade\r\nUpgrade: websocket\r\n"), "[200]"},
		"a second request behind":            {get("http://"+G+"/", host(G)) + get("http://"+S+"/", host(S)), "[200 403]"},
		"a second request in a body":         {"POST http://" + G + "/ HTTP/1.1\r\n" + host(G) + "Content-Length: 20\r\n\r\nGET http://" + S, "[200 400]"},
		"a length beside chunks":             {"POST http://" + G + "/ HTTP/1.1\r\n" + host(G) + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get("http://"+S+"/", host(S)), "[200 403]"},
		"a tunnel":                           {connect(G, host(S)) + get("/", host(S)+"Connection: close\r\n"), "[200]"},
		"a second target for an open tunnel": {connect(G, host(G)) + connect(S, host(S)), "[200]"},
	} {
		t.Run("control: "+name, func(t *testing.T) {
			codes, body := ask(t, p, tt.raw)
			if fmt.Sprint(codes) != tt.codes {
				t.Errorf("got %d, %q, want %s", codes, body, tt.codes)
			}
			if r := seen.Load(); strings.HasPrefix(tt.raw, "GET") && (r == nil || r.Host != G || r.Header.Get("Upgrade") != "") {
				t.Errorf("the origin was asked for %v", r)
			}
		})
	}
	if n := secret.connections.Load(); n != 0 {
		t.Errorf("%d connections came to the other server", n)
	}
	traffic := p.Traffic()
	if len(traffic.Reached) != 1 || int64(traffic.Reached[G]) != good.connections.Load() {
		t.Errorf("reached %+v, and the server had %d connections", traffic.Reached, good.connections.Load())
	}
	eventually.Holds(t, "every refusal is counted", func() bool { return p.Traffic().RefusedCount() >= len(around) })
	// The other server is there: a list that holds it lets it be reached.
	if codes, body := ask(t, open(t, egress.Config{}, S), get("http://"+S+"/", host(S))); fmt.Sprint(codes) != "[200]" || body != "secret" {
		t.Errorf("control: %d, %q", codes, body)
	}
}

func TestNamesThatLeadInward(t *testing.T) {
	own := func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, nil }
	for name, tt := range map[string]struct {
		addrs string
		why   string
	}{
		"loopback":                        {"127.0.0.1", "loopback"},
		"another address of loopback":     {"127.255.0.9", "loopback"},
		"loopback of IPv6":                {"::1", "loopback"},
		"loopback in IPv6":                {"::ffff:127.0.0.1", "loopback"},
		"loopback by translation":         {"64:ff9b::7f00:1", "loopback"},
		"not a host":                      {"0.0.0.0", "loopback"},
		"no host of IPv6":                 {"::", "loopback"},
		"metadata":                        {"169.254.169.254", "metadata"},
		"metadata of IPv6":                {"fd00:ec2::254", "metadata"},
		"metadata that is not link-local": {"100.100.100.200", "metadata"},
		"link-local of IPv6":              {"fe80::1%lo", "link-local"},
		"this host":                       {"192.0.2.7", "this host"},
		"this host in IPv6":               {"::ffff:192.0.2.7", "this host"},
		"multicast":                       {"224.0.0.251", "not a host"},
		"one of two":                      {"203.0.113.1 127.0.0.1", "loopback"},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, egress.Config{Lookup: resolveTo(strings.Fields(tt.addrs)...), Own: own}, "name.example:4000")
			codes, body := ask(t, p, "CONNECT name.example:4000 HTTP/1.1\r\nHost: x\r\n\r\n")
			if fmt.Sprint(codes) != "[403]" || !strings.Contains(body, tt.why) {
				t.Errorf("got %d, %q, want %q", codes, body, tt.why)
			}
			if got := p.Traffic(); got.Reached != nil || len(got.Refused) != 1 || !strings.Contains(fmt.Sprint(got.Refused), tt.why) {
				t.Errorf("noted %+v", got)
			}
		})
	}
}

// ownAddress returns an address of this host that is not loopback, which stands for a server of the
// network.
func ownAddress(t *testing.T) string {
	t.Helper()
	entries, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if prefix, err := netip.ParsePrefix(e.String()); err == nil && prefix.Addr().IsPrivate() {
			return prefix.Addr().String()
		}
	}
	t.Skip("needs a private address beside loopback")
	return ""
}

func TestANameIsAskedOnceAndItsAnswerIsDialed(t *testing.T) {
	address := ownAddress(t)
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Skip(err)
	}
	served := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })}
	go served.Serve(l)
	defer served.Close()
	asked := 0
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		if asked++; asked > 1 || host != "name.example." {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}
	nothing := func() ([]netip.Addr, error) { return nil, nil }
	target := fmt.Sprintf("name.example:%d", l.Addr().(*net.TCPAddr).Port)
	p := open(t, egress.Config{Lookup: lookup, Own: nothing}, target)
	codes, body := ask(t, p, "GET http://"+target+"/ HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n")
	if fmt.Sprint(codes) != "[200]" || body != target || asked != 1 {
		t.Errorf("got %d, %q, %d questions", codes, body, asked)
	}
	if codes, body := ask(t, p, "CONNECT "+target+" HTTP/1.1\r\nHost: x\r\n\r\n"); fmt.Sprint(codes) != "[403]" {
		t.Errorf("the second answer: %d, %q", codes, body)
	}
}

func TestATargetThatIsAway(t *testing.T) {
	const away = "127.0.0.1:1024" // the first that a sandbox may reach; no program has it by chance
	unknown := func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }
	p := open(t, egress.Config{Lookup: unknown}, away, "gone.example:443")
	for _, raw := range []string{
		"CONNECT " + away + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + away + "/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"CONNECT gone.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		if codes, body := ask(t, p, raw); fmt.Sprint(codes) != "[502]" {
			t.Errorf("got %d, %q", codes, body)
		}
	}
	if got := p.Traffic(); got.Reached != nil || got.Refused != nil || !maps.Equal(got.Failed, map[string]int{away: 2, "gone.example:443": 1}) {
		t.Errorf("noted %+v", got)
	}
}

func TestTheSocketIsPrivateAndGoesWithTheProxy(t *testing.T) {
	good := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	p := open(t, egress.Config{Dir: t.TempDir()}, good.address())
	for path, want := range map[string]os.FileMode{p.Socket(): 0o600, strings.TrimSuffix(p.Socket(), "/s"): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	open := tunnel(t, p, good.address())
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if n, err := open.Read(make([]byte, 1)); err == nil {
		t.Errorf("an open tunnel read %d bytes", n)
	}
	if _, err := os.Stat(p.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
}

// A target that hears the end of the box and neither answers nor closes holds nothing up.
func TestASilentTargetHoldsNoProxyUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan error, 1)
	release := make(chan struct{})
	defer close(release)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, conn)
			defer conn.Close()
		}
		ended <- err
		<-release
	}()
	p := open(t, egress.Config{}, l.Addr().String())
	tunnel(t, p, l.Addr().String()).Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhoSendsNoHeaderHoldsNoPlaceForLong(t *testing.T) {
	t.Parallel()
	good := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	p := open(t, egress.Config{Limits: egress.Limits{Connections: 3, HeaderTime: time.Second}}, good.address())
	for i := range 3 {
		conn := dial(t, p)
		io.WriteString(conn, "CONNECT "+good.address()+" HTTP/1.1\r\nX: "[:10+i])
	}
	if codes, _ := ask(t, p, "GET http://"+good.address()+"/ HTTP/1.1\r\nHost: x\r\n\r\n"); fmt.Sprint(codes) != "[200]" {
		t.Errorf("got %d", codes)
	}
	eventually.Holds(t, "the others are counted", func() bool { return p.Traffic().RefusedCount() == 3 })
}

func TestMoreConnectionsWaitForAPlace(t *testing.T) {
	good := newOrigin(t, func(http.ResponseWriter, *http.Request) {})
	p := open(t, egress.Config{Limits: egress.Limits{Connections: 1}}, good.address())
	first := tunnel(t, p, good.address())
	second := make(chan []int)
	go func() {
		codes, _ := ask(t, p, "GET http://"+good.address()+"/ HTTP/1.1\r\nHost: x\r\n\r\n")
		second <- codes
	}()
	select {
	case codes := <-second:
		t.Fatalf("a second connection was served: %d", codes)
	case <-time.After(50 * time.Millisecond): // whoever is served in time shows the fault, and nothing else depends on it
	}
	first.Close()
	if codes := <-second; fmt.Sprint(codes) != "[200]" {
		t.Errorf("got %d", codes)
	}
}
