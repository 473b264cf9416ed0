package manual_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ratchet-dev/ratchet/internal/run"
)

var update = flag.Bool("update", false, "write docs/events.md again")

// TestEventsPage compares docs/events.md with the payloads of package run.
func TestEventsPage(t *testing.T) {
	const command = "go test ./internal/test/manual -run TestEventsPage -update"
	r := reference{structs: structsOf(t)}
	fmt.Fprintf(&r.page, "# Events of a run\n\nGenerated: do not edit, run `%s`.\n[Signals, queries, events and the record](messages.md#events) says how to read them.\n", command)
	for _, p := range []run.Payload{
		run.RunCreated{}, run.PhaseStarted{}, run.PhaseCompleted{}, run.PhaseFailed{}, run.PatchProduced{}, run.ApprovalRequested{},
		run.ApprovalGranted{}, run.ApprovalRejected{}, run.PatchApplied{}, run.PatchApplyFailed{}, run.EvaluationPassed{},
		run.EvaluationFailedFixable{}, run.EvaluationFailedBlocked{}, run.QuestionRaised{}, run.QuestionAnswered{},
		run.RunCompleted{}, run.RunFailed{}, run.RunCanceled{},
	} {
		r.write(t, string(p.Type()), reflect.TypeOf(p).Name())
	}
	for i := 0; i < len(r.named); i++ { // write adds to named
		r.write(t, r.named[i], r.named[i])
	}
	path := filepath.Join(docs, "events.md")
	if *update {
		if err := os.WriteFile(path, []byte(r.page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page(t, "events.md") != r.page.String() {
		t.Errorf("docs/events.md differs from internal/run; fix: %s", command)
	}
}

// reference is a page of structs. named are those that have a section after the events.
type reference struct {
	page    strings.Builder
	structs map[string]*ast.TypeSpec
	named   []string
}

// structsOf returns the structs of package run, each with its comment.
func structsOf(t *testing.T) map[string]*ast.TypeSpec {
	t.Helper()
	found := map[string]*ast.TypeSpec{}
	names, err := filepath.Glob("../../run/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.TypeSpec)
				if spec.Doc == nil {
					spec.Doc = g.Doc
				}
				if _, ok := spec.Type.(*ast.StructType); ok {
					found[spec.Name.Name] = spec
				}
			}
		}
	}
	return found
}

// write adds the section of a struct.
func (r *reference) write(t *testing.T, heading, name string) {
	spec, ok := r.structs[name]
	if !ok {
		t.Fatalf("package run has no struct %s", name)
	}
	fields := r.fields(spec)
	text := prose(spec.Doc)
	for _, start := range []string{name + " is ", name + " "} {
		text = strings.TrimPrefix(text, start)
	}
	text = members(text, fields)
	fmt.Fprintf(&r.page, "\n## %s\n\n%s.\n\n| member | type | |\n|---|---|---|\n", heading, strings.TrimSuffix(strings.ToUpper(text[:1])+text[1:], "."))
	for _, f := range fields {
		fmt.Fprintf(&r.page, "| `%s` | %s | %s |\n", f.member, f.kind, strings.ReplaceAll(f.text, "|", `\|`))
	}
}

type field struct{ name, member, kind, text string }

// fields returns the members of a struct, and those of the structs that it embeds.
func (r *reference) fields(spec *ast.TypeSpec) (list []field) {
	for _, f := range spec.Type.(*ast.StructType).Fields.List {
		if len(f.Names) == 0 {
			list = append(list, r.fields(r.structs[f.Type.(*ast.Ident).Name])...)
			continue
		}
		tag, _ := strconv.Unquote(f.Tag.Value)
		member, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if member != "-" {
			list = append(list, field{f.Names[0].Name, member, r.kind(f.Type), prose(f.Doc) + prose(f.Comment)})
		}
	}
	for i := range list { // what is known only now
		list[i].text = subject.ReplaceAllString(members(list[i].text, list), "")
	}
	return list
}

// kind returns a member's type in words, and remembers a struct for a section of its own.
func (r *reference) kind(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return r.kind(e.X)
	case *ast.ArrayType:
		return "list of " + r.kind(e.Elt)
	case *ast.MapType:
		return "object"
	case *ast.SelectorExpr:
		return cmp.Or(map[string]string{"Duration": "nanoseconds"}[e.Sel.Name], "object")
	case *ast.Ident:
		if r.structs[e.Name] == nil {
			words := map[string]string{"int": "number", "int64": "number", "float64": "number", "Micros": "millionths of a dollar", "bool": "boolean"}
			return cmp.Or(words[e.Name], "string")
		}
		if !slices.Contains(r.named, e.Name) {
			r.named = append(r.named, e.Name)
		}
		return "[" + e.Name + "](#" + strings.ToLower(e.Name) + ")"
	}
	return ""
}

// subject is a beginning that repeats the member's name.
var subject = regexp.MustCompile("^`\\w+` (is|are|holds|lists|names) ")

// inside is what only a reader of the code can follow.
var inside = regexp.MustCompile(`[:;,.]? [Ss]ee [A-Z][\w.]*| \(docs/contracts/[^)]*\)`)

// prose returns a comment as one line.
func prose(c *ast.CommentGroup) string {
	text := inside.ReplaceAllString(strings.Join(strings.Fields(c.Text()), " "), "")
	return regexp.MustCompile(`\bnil\b`).ReplaceAllString(text, "absent")
}

// members puts the members in the place of the names of fields.
func members(text string, fields []field) string {
	for _, f := range fields {
		text = regexp.MustCompile("(^|[^\\w`.])"+f.name+`\b`).ReplaceAllString(text, "${1}`"+f.member+"`")
	}
	return text
}
