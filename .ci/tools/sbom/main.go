// Program sbom writes the bill of materials of an archive of Go programs, in CycloneDX 1.6:
//
//	sbom ARCHIVE.tar.gz DOCUMENT.cdx.json
//
// It reads what the linker wrote into each program: the modules that were linked, their versions and their
// sums. A tool that scans sources or directories can only guess that.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// document is the part of CycloneDX that is used: https://cyclonedx.org/docs/1.6/json/
type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"` // file, application or library
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "sbom: want the archive and the document")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(archive, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := describe(filepath.Base(archive), f)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(b, '\n'), 0o644)
}

// describe reads the archive. One without a Go program is an error.
func describe(name string, archive io.Reader) (document, error) {
	sum := sha256.New()
	gz, err := gzip.NewReader(io.TeeReader(archive, sum))
	if err != nil {
		return document{}, err
	}
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1, Components: []component{}, Dependencies: []dependency{}}
	libraries := map[string]component{}
	for files := tar.NewReader(gz); ; {
		header, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return d, err
		}
		if header.Typeflag != tar.TypeReg || header.Mode&0o111 == 0 {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return d, err
		}
		if err := d.add(path.Base(header.Name), content, libraries); err != nil {
			return d, fmt.Errorf("%s: %w", header.Name, err)
		}
	}
	if len(d.Dependencies) == 0 {
		return d, errors.New("no program in it")
	}
	if _, err := io.Copy(io.Discard, io.TeeReader(archive, sum)); err != nil {
		return d, err
	}
	for _, c := range libraries {
		d.Components = append(d.Components, c)
	}
	slices.SortFunc(d.Components, func(a, b component) int { return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Ref, b.Ref)) })
	d.Metadata.Component = component{Type: "file", Ref: name, Name: name, Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sum.Sum(nil))}}}
	return d, nil
}

// add describes one program and the modules in it.
func (d *document) add(name string, content []byte, libraries map[string]component) error {
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return err
	}
	standard := component{Type: "library", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion}
	standard.Ref = standard.PURL
	libraries[standard.Ref] = standard
	uses := []string{standard.Ref}
	for _, m := range info.Deps {
		var properties []property
		if m.Replace != nil {
			properties = append(properties, property{"replaces", m.Path + "@" + m.Version})
			m = m.Replace
		}
		if m.Sum != "" {
			properties = append(properties, property{"go.sum", m.Sum})
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version, Properties: properties}
		if m.Version == "" { // a directory of this repository
			c.PURL = ""
		}
		c.Ref = cmp.Or(c.PURL, m.Path)
		libraries[c.Ref] = c
		uses = append(uses, c.Ref)
	}
	program := component{Type: "application", Ref: "program:" + name, Name: name, Version: info.Main.Version,
		Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(content))}}, Properties: []property{{"package", info.Path}}}
	d.Components = append(d.Components, program)
	d.Dependencies = append(d.Dependencies, dependency{program.Ref, uses})
	return nil
}
