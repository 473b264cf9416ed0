package compose_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/ratchet-dev/ratchet/internal/temporalclient/attribute"
	"github.com/ratchet-dev/ratchet/internal/test/need"
)

const root = "../../.."

type file struct {
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
	} `yaml:"networks"`
}

type service struct {
	Image       string `yaml:"image"`
	Build       struct{ Context, Dockerfile string }
	Environment map[string]string `yaml:"environment"`
	Entrypoint  []string          `yaml:"entrypoint"`
	Command     []string          `yaml:"command"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Networks    []string          `yaml:"networks"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Healthcheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
	Restart    string   `yaml:"restart"`
	Privileged bool     `yaml:"privileged"`
	CapDrop    []string `yaml:"cap_drop"`
}

// once says whether the service runs to its end.
func (s service) once() bool { return s.Restart == "on-failure:5" }

func read(t *testing.T) file {
	t.Helper()
	return readWith(t, func(b []byte) []byte { return b })
}

// readWith returns the file with its text replaced.
func readWith(t testing.TB, replace func([]byte) []byte) file {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var f file
	if err := yaml.Unmarshal(replace(b), &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Services) != 8 {
		t.Fatalf("%d services", len(f.Services))
	}
	return f
}

func TestComposeTakesTheFile(t *testing.T) {
	cmd := exec.Command(need.Program(t, "docker-compose"), "-f", filepath.Join(root, "docker-compose.yml"), "config", "-q")
	cmd.Env = append(os.Environ(), "POSTGRES_PASSWORD=of-the-test", "BUCKET_PASSWORD=of-the-test", "RATCHET_HOST=ratchet.example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestOneServerVersion compares the images and the manual with the version that the engine is built of.
func TestOneServerVersion(t *testing.T) {
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	m := regexp.MustCompile(`go\.temporal\.io/server v([0-9.]+)`).FindStringSubmatch(text("internal/engine/server/go.mod"))
	if m == nil {
		t.Fatal("the engine requires no server")
	}
	images := 0
	for name, s := range read(t).Services {
		image, version, _ := strings.Cut(s.Image, ":")
		if image != "temporalio/server" && image != "temporalio/admin-tools" {
			continue
		}
		if images++; version != m[1] {
			t.Errorf("%s: got %s in version %s, want %s", name, image, version, m[1])
		}
	}
	if images < 3 {
		t.Errorf("got %d images of the server's, want 3", images)
	}
	if want := "go.temporal.io/server v" + m[1] + "`"; !strings.Contains(text("docs/server.md"), want) {
		t.Errorf("docs/server.md does not say %s", want)
	}
}

// TestWhatIsPublished: beyond this machine, only what asks by TLS who is there. TestATeamOnSeveralMachines asks.
func TestWhatIsPublished(t *testing.T) {
	var published []string
	for name, s := range read(t).Services {
		for _, p := range s.Ports {
			published = append(published, name+" "+p)
		}
	}
	slices.Sort(published)
	if want := []string{"bucket 7070:7070", "ui 127.0.0.1:8080:8080", "worker 7243:7243", "worker 8234:8234"}; !slices.Equal(published, want) {
		t.Errorf("published are %q, want %q", published, want)
	}
}

func TestTheDatabaseIsOutOfTheWorkersReach(t *testing.T) {
	f := read(t)
	if !f.Networks["database"].Internal {
		t.Error("the network of the database is not internal")
	}
	for name, s := range f.Services {
		reaches := slices.Contains(s.Networks, "database")
		if want := slices.Contains([]string{"postgresql", "schema", "temporal"}, name); reaches != want {
			t.Errorf("%s is in the database's network: %v", name, reaches)
		}
	}
}

var exact = regexp.MustCompile(`^[a-z/-]+:(v?\d+\.\d+(\.\d+)?|local)$`)

func TestImagesAreExactAndVolumesNamed(t *testing.T) {
	f := read(t)
	for name, s := range f.Services {
		if !exact.MatchString(s.Image) {
			t.Errorf("%s: image %q", name, s.Image)
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, named := f.Volumes[source]; !named {
				t.Errorf("%s: volume %q is not a named one", name, v)
			}
		}
		if s.Privileged {
			t.Errorf("%s is privileged", name)
		}
	}
}

func TestNoSecretIsInTheFile(t *testing.T) {
	for name, s := range read(t).Services {
		for key, value := range s.Environment {
			secret := regexp.MustCompile(`PASSWORD|PWD|KEY$|TOKEN|SECRET`).MatchString(key) && key != "ROOT_ACCESS_KEY" // a name
			if secret && !strings.HasPrefix(value, "/keys/") && !regexp.MustCompile(`^\$\{(POSTGRES|BUCKET)_PASSWORD:\?`).MatchString(value) {
				t.Errorf("%s: %s is %q", name, key, value)
			}
		}
	}
}

func TestServicesComeUpInOrder(t *testing.T) {
	f := read(t)
	for name, s := range f.Services {
		if len(s.Healthcheck.Test) == 0 && !s.once() {
			t.Errorf("%s has no health check", name)
		}
		for other, d := range s.DependsOn {
			want := "service_healthy"
			if f.Services[other].once() {
				want = "service_completed_successfully"
			}
			if _, known := f.Services[other]; !known || d.Condition != want {
				t.Errorf("%s waits for %s to be %s", name, other, d.Condition)
			}
		}
	}
	for name, after := range map[string]string{"schema": "postgresql", "temporal": "schema", "bucket": "certificates", "namespace": "temporal", "ui": "temporal", "worker": "namespace"} {
		if _, ok := f.Services[name].DependsOn[after]; !ok {
			t.Errorf("%s does not wait for %s", name, after)
		}
	}
}

func TestSearchAttributesAreThoseOfTheWorker(t *testing.T) {
	script := strings.Join(read(t).Services["namespace"].Command, "\n")
	for name, kind := range attribute.Types() {
		if !strings.Contains(script, name+"="+kind.String()) {
			t.Errorf("no %s=%s in %s", name, kind, script)
		}
	}
}

// TestTheWorkerTakesItsCommand asks the programs themselves which flags they have.
func TestTheWorkerTakesItsCommand(t *testing.T) {
	need.Suite(t, need.CI)
	worker, build := read(t).Services["worker"], read(t).Services["certificates"].Build
	if out := usage(t, "./worker", "-h"); !slices.Contains(worker.CapDrop, "ALL") || !hasFlags(out, worker.Command) {
		t.Errorf("command %q, flags\n%s", worker.Command, out)
	}
	check := worker.Healthcheck.Test
	if !slices.Equal(check[:3], []string{"CMD", "starter", "doctor"}) || !hasFlags(usage(t, "./starter", "doctor", "--help"), check) {
		t.Errorf("health check %q", check)
	}
	dockerfile, err := os.ReadFile(filepath.Join(root, build.Context, build.Dockerfile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"AS build", "CGO_ENABLED=0", "USER ratchet", `ENTRYPOINT ["worker"]`, " git ", " openssl "} {
		if !strings.Contains(string(dockerfile), want) {
			t.Errorf("no %q in the Dockerfile", want)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(dockerfile), -1) {
		if !regexp.MustCompile(`^[a-z]+:\d+\.\d+\.\d+(-[a-z]+)?$`).MatchString(m[1]) {
			t.Errorf("base image %s is not exact", m[1])
		}
	}
}

// TestTheServerGetsItsSettings has the shell of the container write what the server reads. The names are those of
// internal/engine/server/config.go, which gives them to the embedded engine.
func TestTheServerGetsItsSettings(t *testing.T) {
	server := read(t).Services["temporal"]
	if got := server.Environment["NUM_HISTORY_SHARDS"]; got != "512" {
		t.Errorf("%s shards: no fewer can become more later", got)
	}
	if len(server.Command) != 3 || !slices.Equal(server.Command[:2], []string{"/bin/sh", "-ec"}) {
		t.Fatalf("command %q", server.Command)
	}
	script, runs := strings.CutSuffix(strings.ReplaceAll(server.Command[2], "$$", "$"), "; exec /etc/temporal/entrypoint.sh")
	if !runs {
		t.Fatalf("%q does not become the server", script)
	}
	where := server.Environment["DYNAMIC_CONFIG_FILE_PATH"]
	if !filepath.IsAbs(where) {
		t.Fatalf("the server reads no file, but %q", where)
	}
	file := filepath.Join(t.TempDir(), filepath.Base(where))
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Env = []string{"DYNAMIC_CONFIG=" + server.Environment["DYNAMIC_CONFIG"], "DYNAMIC_CONFIG_FILE_PATH=" + file}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string][]struct {
		Value any `yaml:"value"`
	}
	if err := yaml.Unmarshal(b, &settings); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"frontend.WorkerCommandsEnabled":           true,
		"system.enableCancelActivityWorkerCommand": true,
		"frontend.WorkflowPauseEnabled":            true,
		"frontend.enablePrincipalPropagation":      true,
		"frontend.enableServerVersionCheck":        false,
		"history.transferProcessorMaxPollRPS":      200,
		"history.timerProcessorMaxPollRPS":         200,
		"history.visibilityProcessorMaxPollRPS":    200,
		"history.outboundProcessorMaxPollRPS":      200,
	} {
		if got := settings[name]; len(got) != 1 || got[0].Value != want {
			t.Errorf("%s is %v", name, got)
		}
	}
}

func usage(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"run"}, args...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if len(out) == 0 {
		t.Fatalf("go run %q: %v", args, err)
	}
	return string(out)
}

func hasFlags(usage string, args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool {
		arg, _, _ = strings.Cut(arg, "=")
		return strings.HasPrefix(arg, "-") && !regexp.MustCompile(`(?m)^ +`+regexp.QuoteMeta(arg)+`\b|[ ,]`+regexp.QuoteMeta(arg)+`\b`).MatchString(usage)
	})
}
