package main

import (
	"fmt"
	"strings"
)

// mermaid draws the graph in the notation that GitHub, GitLab and many documentation tools make a picture of.
func (i *inspection) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	boxes := i.boxes()
	last, edge := "", ""
	connect := func(to string) {
		if last != "" {
			fmt.Fprintf(&b, "  %s -- \"%s\" --> %s\n", last, mermaidText(edge), to)
		}
		last = to
	}
	for k, box := range boxes {
		id := fmt.Sprintf("stage%d", k+1)
		if len(box.steps) == 0 {
			fmt.Fprintf(&b, "  %s([\"%s\"])\n", id, mermaidText(box.title()+box.note()))
			connect(id)
			edge = box.out.String()
			continue
		}
		if box.stage != nil {
			fmt.Fprintf(&b, "  subgraph %s [\"%s\"]\n", id, mermaidText(box.title()+box.note()))
		}
		for n, s := range box.steps {
			fmt.Fprintf(&b, "    %s_%d[\"%s\"]\n", id, n+1, mermaidText(s.Text))
		}
		if box.stage != nil {
			b.WriteString("  end\n")
		}
		for n, s := range box.steps {
			connect(fmt.Sprintf("%s_%d", id, n+1))
			edge = s.out.String()
		}
	}
	edge = i.result(boxes[len(boxes)-1].out)
	b.WriteString("  out([\"consumer\"])\n")
	connect("out")
	return b.String()
}

// mermaidText writes a label between quotes.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(visible(s))
}
