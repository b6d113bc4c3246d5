package main

import (
	"fmt"
	"strings"
)

// mermaid draws the graph in the notation that GitHub, GitLab and many documentation
// tools make an image of.
func (i *inspection) mermaid() string {
	var m mermaid
	m.b.WriteString("flowchart TD\n")
	boxes := i.boxes()
	ends := m.chain(boxes, nil)
	for k := range ends {
		ends[k].text = i.result(boxes[len(boxes)-1].out)
	}
	m.b.WriteString("  out([\"consumer\"])\n")
	m.connect(ends, "out")
	return m.b.String()
}

type mermaid struct {
	b     strings.Builder
	boxes int
}

// loose is an edge that is not connected yet: from where, and what it carries.
type loose struct{ from, text string }

func (m *mermaid) connect(ends []loose, to string) {
	for _, e := range ends {
		fmt.Fprintf(&m.b, "  %s -- \"%s\" --> %s\n", e.from, mermaidText(e.text), to)
	}
}

// chain draws boxes one after the other and returns the edges that go on from there.
func (m *mermaid) chain(boxes []inspectedBox, ends []loose) []loose {
	for _, box := range boxes {
		ends = m.box(box, ends)
	}
	return ends
}

func (m *mermaid) box(box inspectedBox, ends []loose) []loose {
	m.boxes++
	id := fmt.Sprintf("stage%d", m.boxes)
	switch {
	case box.holds != nil && (box.steps[0].Op == "merge" || box.steps[0].Op == "mix"):
		var merged []loose
		for _, c := range box.holds {
			merged = append(merged, m.chain(c.boxes, nil)...)
		}
		m.node(id, box.title())
		m.connect(merged, id)
	case box.holds != nil:
		return m.branches(id, box, ends)
	case len(box.steps) == 0:
		m.node(id, box.title()+box.note())
		m.connect(ends, id)
	default:
		return m.steps(id, box, ends)
	}
	return []loose{{id, edgeText(box.out)}}
}

func (m *mermaid) node(id, text string) {
	fmt.Fprintf(&m.b, "  %s([\"%s\"])\n", id, mermaidText(text))
}

// branches draws those of a route. Its edges say which samples go there.
func (m *mermaid) branches(id string, box inspectedBox, ends []loose) (all []loose) {
	m.node(id, box.title())
	m.connect(ends, id)
	for _, c := range box.holds {
		all = append(all, m.chain(c.boxes, []loose{{id, c.title}})...)
	}
	return all
}

// steps draws what a stage carries out.
func (m *mermaid) steps(id string, box inspectedBox, ends []loose) []loose {
	if box.stage != nil {
		fmt.Fprintf(&m.b, "  subgraph %s [\"%s\"]\n", id, mermaidText(box.title()+box.note()))
	}
	for n, s := range box.steps {
		fmt.Fprintf(&m.b, "    %s_%d[\"%s\"]\n", id, n+1, mermaidText(s.Text))
	}
	if box.stage != nil {
		m.b.WriteString("  end\n")
	}
	for n, s := range box.steps {
		to := fmt.Sprintf("%s_%d", id, n+1)
		m.connect(ends, to)
		ends = []loose{{to, edgeText(s.out)}}
	}
	return ends
}

// mermaidText writes a label between quotes.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(visible(s))
}
