// Package docs has the guide, for programs that read it from the command.
package docs

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed guide/*.md
var pages embed.FS

// Skill returns the page for coding agents, with the head that tells them when to read
// it.
func Skill() string { return page("skill.md") }

// first are the pages to read first. The others come by their names.
var first = []string{"tutorial.md", "from-pytorch.md", "recipes.md", "own-python.md", "python.md"}

// Guide returns the guide as one text: what Headrace is, and the pages one after the
// other, each below its file's name.
func Guide() string {
	var b strings.Builder
	b.WriteString("# Headrace\n\n> A fast, exact data loader for PyTorch, JAX and NumPy: one engine, written in Go, " +
		"for Python, the command line and Go.\n\nThis is its guide, page after page. A link such as run.md#into-shards is to " +
		"the page of that name below.\n")
	for _, name := range names() {
		b.WriteString("\n---\n\npage: " + name + "\n\n" + page(name))
	}
	return b.String()
}

func names() []string {
	all, _ := fs.Glob(pages, "guide/*.md") // the pattern is right
	names := slices.Clone(first)
	for _, file := range all {
		if name := path.Base(file); !slices.Contains(first, name) && name != "skill.md" {
			names = append(names, name)
		}
	}
	return names
}

func page(name string) string {
	text, err := pages.ReadFile("guide/" + name)
	if err != nil {
		panic(err) // a name of first that is no page: a test calls all
	}
	return string(text)
}
