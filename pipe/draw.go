package pipe

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
)

// draw shows a graph for people: a line per stage, the last one first, below it what
// feeds it, indented where that is more than one.
func (n *node) draw() string {
	if n == nil {
		return "an empty flow\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	d := drawing{w: w, seen: make(map[*node]bool)}
	d.draw(n, "", "")
	w.Flush() // into memory: no error
	return b.String()
}

type drawing struct {
	w    *tabwriter.Writer
	seen map[*node]bool
}

// draw writes a node after lead, and what is above it after indent.
func (d *drawing) draw(n *node, lead, indent string) {
	if n == nil {
		fmt.Fprintf(d.w, "%s(empty)\n", lead)
		return
	}
	if d.seen[n] {
		fmt.Fprintf(d.w, "%s%s\t(see above)\n", lead, n.label())
		return
	}
	d.seen[n] = true
	fmt.Fprintf(d.w, "%s%s\t%s\t%s\n", lead, n.label(), n.settings(), n.at)
	for i, up := range n.ups {
		switch {
		case len(n.ups) == 1:
			d.draw(up, indent, indent)
		case i < len(n.ups)-1:
			d.draw(up, indent+"├─ ", indent+"│  ")
		default:
			d.draw(up, indent+"└─ ", indent+"   ")
		}
	}
}

func (n *node) settings() string {
	parts := []string{n.kind}
	if n.detail != "" {
		parts[0] += " " + n.detail
	}
	if n.workers > 1 {
		parts = append(parts, fmt.Sprint(n.workers, " workers"))
	}
	parts = append(parts, fmt.Sprint("buffer ", n.buffer))
	if n.ordered && n.several() {
		parts = append(parts, "ordered")
	}
	if n.gate != nil {
		parts = append(parts, fmt.Sprint("gate of ", n.gate.Limit()))
	}
	if n.policy != nil {
		parts = append(parts, n.policy.String())
	}
	return strings.Join(parts, ", ")
}

// callSite is the file and line outside of this package that is describing a stage.
func callSite() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, here) || strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// here is what the names of this package's functions begin with.
var here = func() string {
	pc, _, _, _ := runtime.Caller(0)
	name := runtime.FuncForPC(pc).Name()
	slash := strings.LastIndexByte(name, '/')
	return name[:slash+1+strings.IndexByte(name[slash+1:], '.')+1]
}()
