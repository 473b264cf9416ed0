package compose_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ratchet-dev/ratchet/host/runs"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/eventually"
	"github.com/ratchet-dev/ratchet/internal/test/gittest"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/internal/test/temporaltest"
)

// teamVariable names the directory with temporal-server, temporal-sql-tool and versitygw, as .ci/nightly team builds them.
const teamVariable = "TEAM_PROGRAMS"

// team plays the services of docker-compose.yml without containers: each with the environment and the command of the
// file, other ports, and directories of the test in place of volumes.
type team struct {
	testing.TB
	dir, programs string
	services      map[string]service
	places        *strings.Replacer
	ports         map[string]string // by their use
}

// variable is one of the person who starts the services.
var variable = regexp.MustCompile(`\$\{(\w+):[^}]*\}`)

func newTeam(t testing.TB) *team {
	programs := os.Getenv(teamVariable)
	if programs == "" {
		t.Skipf("%s is not set: .ci/nightly team builds the programs", teamVariable)
	}
	m := &team{TB: t, dir: t.TempDir(), programs: programs, ports: map[string]string{}}
	m.services = readWith(t, func(b []byte) []byte {
		return variable.ReplaceAllFunc(b, func(v []byte) []byte {
			switch name := string(variable.FindSubmatch(v)[1]); name {
			case "RATCHET_HOST":
				return []byte("localhost")
			case "RATCHET_SANDBOX":
				return []byte("off")
			default:
				return []byte("of-the-test")
			}
		})
	}).Services
	for _, use := range []string{"postgresql", "temporal", "bucket", "hosts", "page"} {
		m.ports[use] = freePort(t)
	}
	places := []string{
		"$$", "$", "temporal:7233", "localhost:" + m.ports["temporal"], "https://bucket:7070", "https://localhost:" + m.ports["bucket"], ":7070", ":" + m.ports["bucket"],
		"0.0.0.0:8234", "127.0.0.1:" + m.ports["page"], ":8234", ":" + m.ports["page"], "0.0.0.0", "127.0.0.1", "/tmp/dynamic.yaml", filepath.Join(m.dir, "dynamic.yaml"),
		"; exec /etc/temporal/entrypoint.sh", "; exec temporal-server --allow-no-auth start",
	}
	for _, volume := range []string{"/keys", "/data", "/runs", "/repositories"} {
		if err := os.Mkdir(m.dir+volume, 0o700); err != nil {
			t.Fatal(err)
		}
		places = append(places, volume, m.dir+volume)
	}
	m.places = strings.NewReplacer(places...)
	return m
}

// freePort returns a port at which nothing listens. The server keeps ports in 16 bits with a sign.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// command returns the command of a service. More variables replace its own.
func (m *team) command(name string, more ...string) *exec.Cmd {
	m.Helper()
	s, ok := m.services[name]
	if !ok {
		m.Fatalf("no service %s", name)
	}
	argv := append(slices.Clone(s.Entrypoint), s.Command...)
	for i := range argv {
		argv[i] = m.places.Replace(argv[i])
	}
	if name == "worker" {
		argv = append([]string{filepath.Join(m.dir, "worker")}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = m.dir
	cmd.Env = append(m.environment(name), more...)
	return cmd
}

// environment returns that of a service, for a program of this machine.
func (m *team) environment(name string) []string {
	env := []string{"PATH=" + m.programs + ":" + os.Getenv("PATH"), "HOME=" + m.dir, "GIT_ALLOW_PROTOCOL=file"}
	for key, value := range m.services[name].Environment {
		env = append(env, key+"="+m.places.Replace(value))
	}
	return env
}

// once runs a command to its end, and returns its standard output.
func (m *team) once(cmd *exec.Cmd) string {
	m.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		m.Fatalf("%q: %v\n%s\n%s", cmd.Args, err, out.String(), errs.String())
	}
	return out.String()
}

// begin starts a command that ends with the test, and returns its output, which grows.
func (m *team) begin(cmd *exec.Cmd) *captured.Output {
	m.Helper()
	out := &captured.Output{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		stop := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		stop.Stop()
		if m.Failed() {
			m.Logf("%q:\n%s", cmd.Args[0], out)
		}
	})
	return out
}

// prepare builds Ratchet's programs and makes the certificates.
func (m *team) prepare() {
	m.Helper()
	build := exec.Command("go", "build", "-o", m.dir, "./worker", "./starter")
	build.Dir = root
	m.once(build)
	for range 2 { // again changes nothing
		m.once(m.command("certificates"))
	}
}

// serve starts the bucket and the worker, on a server that serves.
func (m *team) serve() {
	m.Helper()
	m.namespace()
	m.begin(m.command("bucket"))
	m.answers(m.ports["bucket"])
	home := m.begin(m.command("worker"))
	eventually.Holds(m.TB, "the worker serves", func() bool { return strings.Contains(home.String(), "serving ") })
}

// database starts PostgreSQL as the image does, from Debian's programs. It returns the process.
func (m *team) database() (pid int) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		m.Fatal("PostgreSQL is not installed")
	}
	bin, data := filepath.Dir(found[0]), filepath.Join(m.TempDir(), "database")
	password := filepath.Join(filepath.Dir(data), "password")
	must := func(err error) {
		m.Helper()
		if err != nil {
			m.Fatal(err)
		}
	}
	must(os.Mkdir(data, 0o700))
	must(os.WriteFile(password, []byte("of-the-test"), 0o644))
	as := func(cmd *exec.Cmd) *exec.Cmd { return cmd }
	if os.Geteuid() == 0 { // it does not run as root
		owner, err := user.Lookup("postgres") // of Debian's package
		must(err)
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		must(os.Chown(data, uid, gid))
		must(os.Chmod(filepath.Dir(filepath.Dir(data)), 0o711))
		as = func(cmd *exec.Cmd) *exec.Cmd {
			cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
			return cmd
		}
	}
	m.once(as(exec.Command(found[0], "-D", data, "-U", m.services["postgresql"].Environment["POSTGRES_USER"], "--auth=scram-sha-256", "--pwfile", password)))
	cmd := as(exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", m.ports["postgresql"], "-h", "127.0.0.1", "-k", data))
	m.begin(cmd)
	m.answers(m.ports["postgresql"])
	return cmd.Process.Pid
}

func (m *team) answers(port string) {
	m.Helper()
	eventually.Holds(m.TB, "port "+port+" answers", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		return err == nil && c.Close() == nil
	})
}

// server prepares the database and starts Temporal. It returns the process.
func (m *team) server(more ...string) (pid int) {
	sql := []string{"SQL_HOST=127.0.0.1", "SQL_PORT=" + m.ports["postgresql"]}
	for range 2 { // again changes nothing
		m.once(m.command("schema", sql...))
	}
	ports := []string{"POSTGRES_SEEDS=127.0.0.1", "DB_PORT=" + m.ports["postgresql"], "FRONTEND_GRPC_PORT=" + m.ports["temporal"]}
	for _, name := range []string{"FRONTEND_HTTP_PORT", "FRONTEND_MEMBERSHIP_PORT", "MATCHING_GRPC_PORT", "MATCHING_MEMBERSHIP_PORT", "HISTORY_GRPC_PORT", "HISTORY_MEMBERSHIP_PORT", "WORKER_GRPC_PORT", "WORKER_MEMBERSHIP_PORT"} {
		ports = append(ports, name+"="+freePort(m.TB))
	}
	cmd := m.command("temporal", append(ports, more...)...)
	m.begin(cmd)
	m.answers(m.ports["temporal"])
	return cmd.Process.Pid
}

// namespace does what the service of that name does, whose program is not here.
func (m *team) namespace() {
	c := m.client()
	eventually.Holds(m.TB, "the namespace is there", func() bool {
		ctx, cancel := context.WithTimeout(m.Context(), 5*time.Second)
		defer cancel()
		_, err := c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: "default", WorkflowExecutionRetentionPeriod: durationpb.New(720 * time.Hour),
		})
		return err == nil || strings.Contains(err.Error(), "exists")
	})
}

// client returns a client of the server.
func (m *team) client() client.Client {
	m.Helper()
	pair, pool := m.certificate("temporal")
	c, err := client.NewLazyClient(client.Options{
		HostPort: "localhost:" + m.ports["temporal"], Logger: temporaltest.Quiet{},
		ConnectionOptions: client.ConnectionOptions{TLS: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool}},
	})
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(c.Close)
	return c
}

// certificate returns one of those that the service has made.
func (m *team) certificate(name string) (tls.Certificate, *x509.CertPool) {
	m.Helper()
	file := filepath.Join(m.dir, "keys", name)
	pair, err := tls.LoadX509KeyPair(file+".crt", file+".key")
	if err != nil {
		m.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	return pair, pool
}

// starter returns a command on the home machine, or on one that has joined.
func (m *team) starter(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(m.dir, "starter"), args...)
	cmd.Dir, cmd.Env = m.dir, env
	return cmd
}

// goal returns the arguments of a run on a new repository, whose patch waits for an approval.
func (m *team) goal() []string {
	m.Helper()
	o := gittest.NewOrigin(m.TB)
	o.Git("update-ref", "refs/heads/main", o.Git("commit-tree", "-m", "first", o.Tree("100644 blob "+o.Blob("bad\n")+"\tstate.txt\n")))
	answers := m.TempDir()
	for name, text := range map[string]string{"plan-1.md": "# Make it good\n", "execute-1.md": answer} {
		if err := os.WriteFile(filepath.Join(answers, name), []byte(text), 0o644); err != nil {
			m.Fatal(err)
		}
	}
	return []string{"run", "make it good", "--repo", o.FileURL(), "--provider", "replay:" + answers, "--check", "grep -q good state.txt", "--approve", "always", "--detach"}
}

const answer = "<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: Make it good\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\n" +
	"diff --git a/state.txt b/state.txt\n--- a/state.txt\n+++ b/state.txt\n@@ -1 +1 @@\n-bad\n+good\n[PATCH_END]\n"

// TestATeamOnSeveralMachines brings up what docker-compose.yml describes. Another machine joins by the printed line, and
// does a run that requires the sandbox, which the home machine has not; it is approved at home.
func TestATeamOnSeveralMachines(t *testing.T) {
	need.Suite(t, need.Nightly)
	m := newTeam(t)
	m.prepare()
	m.database()
	m.server()
	pair, _ := m.certificate("temporal")
	for _, certificates := range [][]tls.Certificate{nil, {pair}} { // by TLS 1.2 the handshake tells the client
		_, err := tls.Dial("tcp", "127.0.0.1:"+m.ports["temporal"], &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, Certificates: certificates})
		if admitted := err == nil; admitted != (certificates != nil) {
			t.Errorf("a client with %d certificates: got %v from Temporal", len(certificates), err)
		}
	}
	m.serve()

	_, pool := m.certificate("public")
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	page, err := browser.Get("https://localhost:" + m.ports["page"])
	if err != nil {
		t.Fatal(err)
	}
	page.Body.Close()
	if page.StatusCode != http.StatusForbidden && page.StatusCode != http.StatusUnauthorized {
		t.Errorf("the page tells a stranger %s", page.Status)
	}

	atHome := m.environment("worker")
	runsDir := filepath.Join(m.dir, "runs")
	door := "127.0.0.1:" + m.ports["hosts"]
	var line struct{ Code string }
	if err := json.Unmarshal([]byte(m.once(m.starter(atHome, "host", "join", "--runs-dir", runsDir, "--listen", door, "--address", door, "--json"))), &line); err != nil {
		t.Fatal(err)
	}
	there := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(m.dir, "there"), "GIT_ALLOW_PROTOCOL=file"}
	for _, v := range atHome {
		if strings.HasPrefix(v, "AWS_") || strings.HasPrefix(v, "RATCHET_") {
			there = append(there, v)
		}
	}
	if err := os.Mkdir(filepath.Join(m.dir, "there"), 0o700); err != nil {
		t.Fatal(err)
	}
	joined := exec.Command(filepath.Join(m.dir, "worker"), "-join", "-host", "laptop", "-sandbox", "required")
	joined.Dir, joined.Env, joined.Stdin = m.dir, there, strings.NewReader(line.Code+"\n")
	laptop := m.begin(joined)
	eventually.Holds(t, "the other machine serves", func() bool { return strings.Contains(laptop.String(), "serving ") })

	id := strings.Fields(m.once(m.starter(there, m.goal()...)))[0]
	approve := func() *exec.Cmd { return m.starter(atHome, "approve", id, "--runs-dir", runsDir) }
	eventually.Holds(t, "the run is approved at home", func() bool { return approve().Run() == nil })
	m.once(m.starter(atHome, "watch", id, "--runs-dir", runsDir)) // fails unless the run is completed
	if got := m.once(m.starter(atHome, "diff", id, "--runs-dir", runsDir)); !strings.Contains(got, "+good") {
		t.Errorf("at home the diff is %q, want the patch", got)
	}
	if objects, _ := filepath.Glob(filepath.Join(m.dir, "data", "ratchet", "runs", "*", "*")); len(objects) == 0 {
		t.Error("the bucket has no record")
	}
	var hosts []runs.HostView
	if err := json.Unmarshal([]byte(m.once(m.starter(atHome, "hosts", "--runs-dir", runsDir, "--json"))), &hosts); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(hosts, func(h runs.HostView) bool { return h.Name == "laptop" && h.Serving && h.Pool }) {
		t.Errorf("hosts: got %+v, want a laptop that serves the runs of all", hosts)
	}
}
