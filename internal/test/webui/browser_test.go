package webui_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratchet-dev/ratchet/internal/test/captured"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

// browser is a headless Chromium. It is driven over WebDriver, a W3C protocol of JSON over HTTP that the standard library
// speaks well enough; see https://www.w3.org/TR/webdriver2/.
type browser struct {
	t       *testing.T
	session string // URL of the session
}

// flags keep Chromium from looking beyond this machine.
var flags = []string{
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--lang=en",
}

func openBrowser(t *testing.T, width, height int, more ...string) *browser {
	t.Helper()
	need.Suite(t, need.CI)
	chromium := need.Program(t, "chromium")
	driver := startDriver(t, need.Env(t, "CHROMEDRIVER_BIN"))
	args := append([]string{"--user-data-dir=" + t.TempDir(), fmt.Sprintf("--window-size=%d,%d", width, height)}, append(more, flags...)...)
	b := &browser{t: t}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	b.call(http.MethodPost, driver+"/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:chromeOptions": map[string]any{"binary": chromium, "args": args},
		"goog:loggingPrefs":  map[string]string{"browser": "SEVERE"},
		"timeouts":           map[string]int64{"script": commandPatience.Milliseconds(), "pageLoad": commandPatience.Milliseconds()},
	}}}, &made)
	b.session = driver + "/session/" + made.SessionID
	t.Cleanup(func() { b.call(http.MethodDelete, b.session, nil, nil) })
	return b
}

// startDriver runs chromedriver on a port that it chooses. It ends at once where another program has that port by IPv4:
// then it is started again.
func startDriver(t *testing.T, program string) (url string) {
	t.Helper()
	awaitOr(t, "chromedriver serves", func() string { return "it ends at each start" }, func() bool {
		url = tryDriver(t, program)
		return url != ""
	})
	return url
}

// tryDriver starts chromedriver once. It returns an empty URL if the program ends before it serves.
func tryDriver(t *testing.T, program string) (url string) {
	t.Helper()
	var said captured.Output
	cmd := exec.Command(program, "--port=0", "--log-level=WARNING")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stdout = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running, ended := context.WithCancel(context.Background())
	go func() {
		_ = cmd.Wait()
		ended()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-running.Done()
	})
	text, ok := said.Await(running, driverPort.MatchString)
	if !ok {
		return ""
	}
	return "http://127.0.0.1:" + driverPort.FindStringSubmatch(text)[1]
}

var driverPort = regexp.MustCompile(`started successfully on port (\d+)`)

// commandPatience bounds one command of the browser. Without a graphics card a busy machine draws a page for minutes.
const commandPatience = 5 * time.Minute

// call is one WebDriver command; its value goes to out. Cleanups call too, so the context is not the test's.
func (b *browser) call(method, url string, in, out any) {
	b.t.Helper()
	if err := b.try(method, url, in, out); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) try(method, url string, in, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandPatience)
	defer cancel()
	var body io.Reader
	if method == http.MethodPost {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	reply := struct {
		Value json.RawMessage `json:"value"`
	}{}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %.400s", method, url, reply.Value)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(reply.Value, out)
}

func (b *browser) post(path string, in, out any) {
	b.t.Helper()
	b.call(http.MethodPost, b.session+path, in, out)
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.post("/url", map[string]string{"url": url}, nil)
}

// enter opens the Web UI by a login link.
func (b *browser) enter(s *fixture) {
	b.t.Helper()
	const page = "/namespaces/default/workflows"
	b.open(s.login(page))
	b.awaitAddress(s.ui + page)
}

func (b *browser) awaitAddress(want string) {
	b.t.Helper()
	at := func() string { return eval[string](b, "return location.href") }
	awaitOr(b.t, "the page is "+want, func() string { return at() + "\n" + b.text() }, func() bool { return strings.HasPrefix(at(), want) })
}

// eval returns what the body of a JavaScript function returns.
func eval[T any](b *browser, script string, args ...any) (out T) {
	b.t.Helper()
	if args == nil {
		args = []any{}
	}
	b.post("/execute/sync", map[string]any{"script": script, "args": args}, &out)
	return out
}

// text is what a reader of the page sees, in its frames too: the UI shows Markdown in frames of their own.
func (b *browser) text() string {
	b.t.Helper()
	return eval[string](b, `return [document, ...Array.from(document.querySelectorAll("iframe"), f => f.contentDocument)]
		.map(d => d?.body?.innerText ?? "").join("\n")`)
}

func (b *browser) awaitText(want string) {
	b.t.Helper()
	awaitOr(b.t, fmt.Sprintf("the page shows %q", want), func() string { return b.text() },
		func() bool { return strings.Contains(b.text(), want) })
}

// elementKey names an element among the arguments of a script: https://www.w3.org/TR/webdriver2/#elements.
const elementKey = "element-6066-11e4-a52e-4f735466cecf"

// element waits for one element that the XPath finds and that can be seen.
func (b *browser) element(xpath string) string {
	b.t.Helper()
	var found string
	awaitOr(b.t, "element "+xpath, func() string { return b.text() }, func() bool {
		var list []map[string]string
		b.post("/elements", map[string]string{"using": "xpath", "value": xpath}, &list)
		for _, e := range list {
			for _, id := range e {
				var shown bool
				if b.try(http.MethodGet, b.session+"/element/"+id+"/displayed", nil, &shown) == nil && shown {
					found = id
					return true
				}
			}
		}
		return false
	})
	return found
}

// click finds the element anew while the page still moves it about. It scrolls to one that lies behind the bar of
// buttons, as a person would.
func (b *browser) click(xpath string) {
	b.t.Helper()
	var err error
	awaitOr(b.t, "click on "+xpath, func() string { return fmt.Sprint(err) }, func() bool {
		id := b.element(xpath)
		if err = b.try(http.MethodPost, b.session+"/element/"+id+"/click", map[string]any{}, nil); err != nil {
			_ = b.try(http.MethodPost, b.session+"/execute/sync", map[string]any{
				"script": "arguments[0].scrollIntoView({block: 'center'})", "args": []any{map[string]string{elementKey: id}},
			}, nil)
		}
		return err == nil
	})
}

// paste puts a text into the field, as the clipboard would: nothing completes or indents it on the way.
func (b *browser) paste(xpath, text string) {
	b.t.Helper()
	b.click(xpath)
	b.post("/goog/cdp/execute", map[string]any{"cmd": "Input.insertText", "params": map[string]string{"text": text}}, nil)
}

// keep writes a screenshot to the artifacts of the test.
func (b *browser) keep(name string) {
	b.t.Helper()
	var encoded string
	b.call(http.MethodGet, b.session+"/screenshot", nil, &encoded)
	png, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.t.ArtifactDir(), name+".png")
	if err := os.WriteFile(path, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("screenshot %s", path)
}

func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	awaitOr(t, what, func() string { return "" }, holds)
}

// awaitOr polls the condition; when it never holds, why says what was seen instead.
func awaitOr(t testing.TB, what string, why func() string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within five minutes: %s", what, why())
		}
		time.Sleep(50 * time.Millisecond) // the pace of polling
	}
}
