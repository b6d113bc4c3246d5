package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// listed are the commands that the program's help shows.
func listed(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command(program(t), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(out), "Available Commands:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	var names []string
	for line := range strings.Lines(commands) {
		names = append(names, strings.Fields(line)[0])
	}
	if len(names) < 3 {
		t.Fatalf("the help lists no commands:\n%s", out)
	}
	return names
}

func TestDocs(t *testing.T) {
	for _, form := range []struct{ name, joint, suffix, begins string }{
		{"man", "-", ".1", `(?s)^\.nh\n\.TH "HEADRACE.*" "1" "Nov 2023" "headrace .*" "Headrace"`},
		{"markdown", "_", ".md", `^## headrace`},
	} {
		t.Run(form.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "folder")
			c := exec.Command(program(t), "docs", form.name, dir)
			c.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
			if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("%v: %s", err, out)
			}
			begins := regexp.MustCompile(form.begins)
			for _, name := range append(listed(t), "") {
				page := strings.TrimSuffix("headrace"+form.joint+name, form.joint) + form.suffix
				text, err := os.ReadFile(filepath.Join(dir, page))
				if name == "help" {
					if err == nil {
						t.Errorf("%s: what only helps needs no page", page)
					}
					continue
				}
				if err != nil {
					t.Error(err)
				} else if !begins.Match(text) {
					t.Errorf("%s begins with %.120q, want %s", page, text, form.begins)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*docs"+form.joint+"*")); len(left) > 0 {
				t.Errorf("a hidden command has a page: %v", left)
			}
		})
	}
}

func TestDocsForPrograms(t *testing.T) {
	for flag, has := range map[string]string{
		"--llms":  "\npage: tutorial.md\n\n# Ten minutes\n",
		"--skill": "\n# For coding agents\n",
	} {
		if got := invoke(t, "", "docs", flag); got.code != 0 || !strings.Contains(got.stdout, has) {
			t.Errorf("%s: code %d, %q, %.200q", flag, got.code, got.stderr, got.stdout)
		}
	}
	for want, args := range map[string][]string{
		"give --llms for the guide, or --skill for the skill file": {"docs"},
		"[llms skill] were all set":                                {"docs", "--llms", "--skill"},
	} {
		if got := invoke(t, "", args...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestDocsWhereNoFolderCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"docs", "man", file}, {"docs", "markdown", filepath.Join(file, "below")}, {"docs", "man"}} {
		out, err := exec.Command(program(t), args...).CombinedOutput()
		if err == nil {
			t.Errorf("headrace %s: no error", strings.Join(args, " "))
		}
		if len(args) > 2 && !strings.Contains(string(out), file) {
			t.Errorf("the message does not name the file: %s", out)
		}
	}
}

func TestAsMarkdown(t *testing.T) {
	in := "Writes shard_*.tar, or <that> [so].\n\n  --out tar:a_*.tar   a\n                      b\n\n  --out npy:b\n\nMore.\n  c_d\nEnd"
	want := "Writes shard\\_\\*.tar, or \\<that> \\[so].\n\n\n      --out tar:a_*.tar   a\n                          b\n\n      --out npy:b\n\n\nMore.\n\n      c_d\n\nEnd"
	if got := asMarkdown(in); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
