package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/need"
	"github.com/ratchet-dev/ratchet/starter/internal/exit"
)

// neighbour is a user of the host with a home and the programs in it.
type neighbour struct {
	*testing.T
	uid  uint32
	home string
}

// twoPeople are users that are not root and not each other.
func twoPeople(t *testing.T) (kim, mallory neighbour) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only the superuser starts programs as two other users")
	}
	program, err := engine.Program(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	shared, err := os.MkdirTemp("", "two") // that of the test lies in one of root's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shared) })
	if err := os.Chmod(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	for from, name := range map[string]string{os.Args[0]: "starter", program: "ratchet-engine"} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(shared, name), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	move := func(uid uint32) neighbour {
		p := neighbour{t, uid, filepath.Join(shared, fmt.Sprint(uid))}
		if err := errors.Join(os.Mkdir(p.home, 0o755), os.Chown(p.home, int(uid), int(uid))); err != nil {
			t.Fatal(err)
		}
		return p
	}
	return move(65534), move(12345)
}

func (p neighbour) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = p.home
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), asProgram + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.uid, Gid: p.uid}}
	return cmd
}

func (p neighbour) sh(script string) string {
	p.Helper()
	out, err := p.command(p.Context(), "sh", "-ec", script).CombinedOutput()
	if err != nil {
		p.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p neighbour) starter(args ...string) result {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 5*time.Minute) // a run in wrong hands may never end
	defer cancel()
	cmd := p.command(ctx, filepath.Join(filepath.Dir(p.home), "starter"), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			p.Fatal(err)
		}
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// up starts an engine and a worker, and returns what ends them.
func (p neighbour) up(args ...string) (f engine.File, stop func()) {
	p.Helper()
	cmd := p.command(p.Context(), filepath.Join(filepath.Dir(p.home), "starter"), append([]string{"up", "--sandbox", "off", "--ui-port", "0", "--json"}, args...)...)
	var errs captured.Output
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	p.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &f)
	}
	if err != nil {
		p.Fatalf("up: %v: %s", err, errs.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return f, stop
}

// stateDir is the runs directory that a user has by default, below HOME.
const stateDir = ".local/state/ratchet"

// key is that of the engine of the user.
func (p neighbour) key() string {
	p.Helper()
	b, err := os.ReadFile(filepath.Join(p.home, stateDir, engine.KeyFile))
	if err != nil {
		p.Fatal(err)
	}
	return string(b)
}

const whoAmI = "<<<AIO_RESULT_START>>>\ntype: PATCH\nsummary: say hello\n<<<AIO_RESULT_END>>>\n\n[PATCH_BEGIN]\n" +
	"diff --git a/hello b/hello\nnew file mode 100644\n--- /dev/null\n+++ b/hello\n@@ -0,0 +1 @@\n+hello\n[PATCH_END]\n"

// begin starts a run whose check writes who carries it out.
func (p neighbour) begin() result {
	p.Helper()
	p.sh(`test -d repo || { git init -q repo && git -C repo -c user.name=p -c user.email=p@localhost commit -q --allow-empty -m first
		mkdir answers && printf '# Plan\n\n- [ ] say hello\n' > answers/plan-1.md; }`)
	if err := os.WriteFile(filepath.Join(p.home, "answers", "execute-1.md"), []byte(whoAmI), 0o644); err != nil {
		p.Fatal(err)
	}
	return p.starter("run", "--sandbox", "off", "--repo", "repo", "--goal", "a secret goal", "--approve", "never",
		"--provider", "replay:"+filepath.Join(p.home, "answers"), "--check", "id -u > "+filepath.Join(p.home, "who"))
}

// TestTheEngineOfAnotherUserTakesNobodysRun has two users on one host. Findings B2 and B10.
func TestTheEngineOfAnotherUserTakesNobodysRun(t *testing.T) {
	need.Suite(t, need.Nightly)
	kim, mallory := twoPeople(t)
	refused := func(t *testing.T, got result, say string) {
		t.Helper()
		if got.code != exit.Unreachable || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, say) || !strings.Contains(got.err, "starter up") {
			t.Errorf("code %d: %s%s", got.code, got.out, got.err)
		}
	}
	t.Run("nothing says which engine is meant", func(t *testing.T) {
		usual, err := net.Listen("tcp", "127.0.0.1:7233")
		if err == nil { // else somebody's engine listens there already
			defer usual.Close()
			go func() {
				if conn, err := usual.Accept(); err == nil {
					t.Error("what listens at the usual port is asked")
					_ = conn.Close()
				}
			}()
		}
		refused(t, kim.begin(), "no engine is known")
		refused(t, kim.starter("list"), "no engine is known")
	})
	_, die := kim.up("--port", "0")
	die()
	known := kim.key()
	first, die := kim.up("--port", "0")
	die()
	if known == "" || kim.key() != known {
		t.Error("the key is another after a restart: workers that have it would have to start again")
	}
	_, port, err := net.SplitHostPort(first.Address)
	if err != nil {
		t.Fatal(err)
	}
	if stolen, _ := mallory.up("--port", port); stolen.Address != first.Address {
		t.Fatalf("%s is not %s", stolen.Address, first.Address)
	}
	t.Run("the engine has died and another user has its port", func(t *testing.T) {
		refused(t, kim.begin(), "another program listens there")
		refused(t, kim.starter("list"), "another program listens there")
	})
	t.Run("the runs directory is another user's", func(t *testing.T) {
		refused(t, mallory.starter("list", "--runs-dir", filepath.Join(kim.home, stateDir)), "not used")
		kim.sh("chmod -R go+rX .local && chmod 644 " + stateDir + "/engine.json")
		refused(t, mallory.starter("list", "--runs-dir", filepath.Join(kim.home, stateDir)), "belongs to user 65534")
		refused(t, kim.starter("list"), "other users")
	})
	t.Run("each has one", func(t *testing.T) {
		if got := kim.starter("up", "--sandbox", "off", "--port", "0", "--ui-port", "0"); got.code != exit.Failed || !strings.Contains(got.err, "engine.pem can be read by other users") {
			t.Errorf("with a key that others can read: %+v", got)
		}
		kim.sh("rm " + stateDir + "/engine.pem")
		kim.up("--port", "0")
		if got := kim.begin(); got.code != exit.Done {
			t.Fatalf("code %d: %s%s", got.code, got.out, got.err)
		}
		if who := kim.sh("cat who"); who != fmt.Sprint(kim.uid) {
			t.Errorf("the check ran as user %s", who)
		}
	})
	if got := mallory.starter("list", "--json"); got.code != exit.Done || strings.Contains(got.out, "goal") {
		t.Errorf("the other engine has %s%s", got.out, got.err)
	}
}
