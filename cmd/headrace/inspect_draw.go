package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/stats"
	"github.com/headrace/headrace/tensor"
)

// draw tells an inspection to people: the graph, the sizes, the first samples.
func (i *inspection) draw(p *page) {
	p.line("", p.bold, i.File)
	p.blank()
	i.drawVariables(p)
	i.drawGraph(p)
	if i.Engine != nil || len(i.Functions) > 0 && !i.Called {
		p.blank()
	}
	if i.Engine != nil {
		i.drawSizes(p)
	}
	if len(i.Functions) > 0 && !i.Called {
		p.fact("functions", strings.Join(i.Functions, ", ")+": not imported; --samples 5 imports and calls them")
	}
	if len(i.Samples) > 0 {
		p.blank()
		i.drawSamples(p)
	}
}

func (i *inspection) drawVariables(p *page) {
	for _, v := range i.Variables {
		p.line("  ", plainInk, fmt.Sprintf("${%s} = %s (%s)", v.Name, visible(v.Value), strings.Replace(v.From, "given", "--set", 1)))
	}
	if len(i.Variables) > 0 {
		p.blank()
	}
}

// drawGraph draws a bracket around the steps of each stage, and around the chains that
// a step holds. Edges carry the schema.
func (i *inspection) drawGraph(p *page) {
	boxes := i.boxes()
	drawBoxes(p, "", boxes, i.result(boxes[len(boxes)-1].out))
}

// drawBoxes draws a chain after what is before all its lines. Out is what its last
// edge carries.
func drawBoxes(p *page, before string, boxes []inspectedBox, out string) {
	for k, b := range boxes {
		side, end, edge := "│", "╰┬", " │ "
		switch {
		case b.loose():
			side, end, edge = "", "", "  ▼ "
		case k == 0 || boxes[k-1].loose():
			p.line(before+"╭─ ", p.bold, b.title(), b.note())
		default:
			p.line(before+"╭┴ ", p.bold, b.title(), b.note())
		}
		b.drawInside(p, before, side)
		if end != "" {
			p.line(before+end, plainInk, "")
		}
		text := edgeText(b.out)
		if k == len(boxes)-1 {
			text = out
			edge = strings.Replace(edge, "│", "▼", 1)
		}
		p.line(before+edge, p.dim, text)
	}
}

// drawInside draws what a box holds.
func (b inspectedBox) drawInside(p *page, before, side string) {
	for _, c := range b.holds {
		if len(c.boxes) == 0 {
			p.line(before+"├─ ", plainInk, c.title+": nothing")
			continue
		}
		p.line(before+"├─ ", plainInk, c.title)
		drawBoxes(p, before+"│  ", c.boxes, edgeText(c.boxes[len(c.boxes)-1].out))
	}
	if b.holds != nil {
		return
	}
	for n, s := range b.steps {
		if n > 0 {
			p.line(before+side+"  ↓ ", p.dim, edgeText(b.steps[n-1].out))
		}
		if b.stage == nil || len(b.steps) > 1 || s.Text != b.title() {
			p.line(before+side+"  ", plainInk, s.Text)
		}
	}
}

// loose tells whether a box has no bracket: nothing is known of a stage, and nothing is
// in it.
func (b inspectedBox) loose() bool { return b.stage == nil && b.holds == nil }

// title is the name under which statistics know a stage, short; of a step that holds
// others, what it says.
func (b inspectedBox) title() string {
	if b.holds != nil {
		return b.steps[0].Text
	}
	return stats.ShortName(b.stage.Name)
}

// note says who works in a stage, and what was fused.
func (b inspectedBox) note() string {
	if b.holds != nil {
		return ""
	}
	if len(b.steps) > 0 && len(b.steps[0].From) == 0 {
		return " · the source"
	}
	note := " · " + words.Plural(int64(b.stage.Workers), "worker")
	switch n := len(b.steps); {
	case n > 1:
		note += fmt.Sprintf(" · %d steps, fused into one pass", n)
	case n == 1:
	case strings.HasPrefix(b.stage.Name, "read"):
		note += " · reads what is listed"
	case strings.HasPrefix(b.stage.Name, "probe"):
		note += " · looks at headers, and reserves memory"
	case strings.HasPrefix(b.stage.Name, "measure"):
		note += " · measures samples"
	case strings.HasPrefix(b.stage.Name, "group"):
		note += " · holds samples until a batch is whole"
	default:
		note += " · reserves memory"
	}
	return note
}

// edgeText is what an edge carries. After a function that does not say what it gives,
// nobody knows.
func edgeText(s sample.Schema) string {
	if s == nil {
		return "?"
	}
	return s.String()
}

// result is what comes out at the end: batches, where the engine makes them.
func (i *inspection) result(out sample.Schema) string {
	if i.Engine == nil {
		return edgeText(out)
	}
	parts := make([]string, len(i.Engine.Fields))
	for n, f := range i.Engine.Fields {
		parts[n] = fmt.Sprintf("%s text ×%d", f.Name, i.Engine.Rows)
		switch {
		case i.Engine.Whole && f.Kind == sample.Tensor:
			parts[n] = fmt.Sprintf("%s %s %v", f.Name, f.DType, f.Shape)
		case i.Engine.Whole:
			parts[n] = fmt.Sprintf("%s %s", f.Name, f.Kind)
		case f.Kind == sample.Tensor:
			parts[n] = fmt.Sprintf("%s %s %v", f.Name, f.DType, append(tensor.Shape{i.Engine.Rows}, f.Shape...))
		}
	}
	return strings.Join(parts, ", ")
}

func (i *inspection) drawSizes(p *page) {
	e := i.Engine
	p.fact("source", e.source())
	p.fact("epoch", e.epoch(i.Recipe))
	if !e.Whole {
		p.fact("sample", e.sample())
	}
	p.fact("batch", fmt.Sprintf("%s; room for %d: %s", bytesize.Text(e.BatchBytes), e.Slots, bytesize.Text(int64(e.Slots)*e.BatchBytes)))
	p.fact("memory", fmt.Sprintf("%s to work with; the consumer may hold %s of batches", bytesize.Text(e.Memory),
		bytesize.Text(e.HoldLimit)))
	p.fact("losses", losses(i.Loader)+otherRules(i.Recipe))
}

func (e *inspectedEngine) source() string {
	text := words.Plural(e.Samples, "sample")
	if e.Samples < 0 {
		text = "any number of samples"
	}
	if len(e.Classes) == 0 {
		return text
	}
	if len(e.Classes) == 1 {
		return text + " in 1 class: " + firstFew(e.Classes)
	}
	return text + " in " + words.Thousands(int64(len(e.Classes))) + " classes: " + firstFew(e.Classes)
}

// firstFew names the first of many, and the last.
func firstFew(classes []recipe.Path) string {
	const few = 4
	var names []string
	for n, c := range classes {
		switch {
		case n < few || n == len(classes)-1:
			names = append(names, visible(string(c)))
		case n == few:
			names = append(names, "…")
		}
	}
	return strings.Replace(strings.Join(names, ", "), "…, ", "… ", 1)
}

func (e *inspectedEngine) epoch(r recipe.Recipe) string {
	text := fmt.Sprintf("%s of %s", words.Plural(e.BatchesPerEpoch, "batch"), words.Plural(int64(e.Rows), "sample"))
	if e.BatchesPerEpoch < 0 {
		text = fmt.Sprintf("batches of %s, as many as there are", words.Plural(int64(e.Rows), "sample"))
	} else if e.Grouped {
		text = fmt.Sprintf("at most %s of up to %s", words.Plural(e.BatchesPerEpoch, "batch"), words.Plural(int64(e.Rows), "row"))
	} else if rest := e.SamplesPerEpoch % int64(e.Rows); rest > 0 && e.BatchesPerEpoch > e.SamplesPerEpoch/int64(e.Rows) {
		text += fmt.Sprintf(", the last of %d", rest)
	}

	if left := e.Samples - e.SamplesPerEpoch; left > 0 && e.SamplesPerEpoch >= 0 {
		text += fmt.Sprintf(", %s left out", words.Plural(left, "sample"))
	}
	if !e.Exact && !e.Grouped {
		text += ", fewer where samples are lost"
	}

	for _, s := range r.All() {
		if notes := recipe.TraitsOf(s.Args).Notes; notes != "" {
			text += "; " + notes
			break
		}
	}

	if e.Epochs == nil {
		return text + "; epochs without end"
	}
	if *e.Epochs == 1 {
		return text + "; 1 epoch"
	}
	return text + "; " + words.Thousands(int64(*e.Epochs)) + " epochs"
}

func (e *inspectedEngine) sample() string {
	var parts []string
	differ := false
	for _, f := range e.Fields {
		if f.Kind == sample.Tensor {
			size := bytesize.Text(rowBytes(f))
			if !f.Shape.Fixed() {
				size, differ = "of different sizes", true
			}
			parts = append(parts, f.Name+" "+size)
		}
	}
	if differ {
		return strings.Join(parts, ", ")
	}
	if len(parts) < 2 {
		return bytesize.Text(e.SampleBytes)
	}
	return bytesize.Text(e.SampleBytes) + ": " + strings.Join(parts, ", ")
}

func losses(c headrace.Config) string {
	become := map[headrace.OnError]string{headrace.Skip: "skipped", headrace.Replace: "replaced"}[c.OnError]
	if become == "" {
		return "none: the first bad sample stops the run"
	}
	most, _ := json.Marshal(c.MaxErrors)
	switch {
	case string(most) == "null":
		return "bad samples are " + become + ", up to 1 % of an epoch and at least 10"
	case c.MaxErrors.Rate > 0:
		return fmt.Sprintf("bad samples are %s, up to %s %% of an epoch", become, shortNumber(100*c.MaxErrors.Rate))
	default:
		return fmt.Sprintf("bad samples are %s, up to %d an epoch", become, c.MaxErrors.Count)
	}
}

// otherRules names the steps that have rules of their own for losses.
func otherRules(r recipe.Recipe) string {
	var names []string
	for _, s := range r.All() {
		if s.Failures != nil && (s.Failures.OnError != "" || s.Failures.MaxErrors != nil) {
			names = append(names, s.Name)
		}
	}
	if names == nil {
		return ""
	}
	return "; other rules for " + strings.Join(names, ", ")
}

func (i *inspection) drawSamples(p *page) {
	p.line("", p.bold, "first samples")
	for _, s := range i.Samples {
		p.line("  ", plainInk, visible(string(s.Key)))
		if s.Error != "" {
			p.line("    ", p.red, "✗ "+visible(s.Error))
		}
		if facts := s.facts(); facts != "" {
			p.line("    ", p.dim, facts)
		}
	}
}

// facts are what is known of a sample: its label, its file, its values.
func (s inspectedSample) facts() string {
	var parts []string
	if s.Label != nil {
		label := fmt.Sprintf("label %d", *s.Label)
		if s.Class != nil {
			label += " " + visible(string(*s.Class))
		}
		parts = append(parts, label)
	}

	if s.Format != "" {
		parts = append(parts, fmt.Sprintf("%s %d×%d", s.Format, s.Width, s.Height))
	}
	if s.Video != nil {
		parts = append(parts, s.Video.facts()...)
	}
	if s.Audio != nil {
		parts = append(parts, s.Audio.facts())
	}
	if s.Live {
		parts = append(parts, "a live recording: the file has no end")
	}
	if s.Orientation > 1 {
		parts = append(parts, fmt.Sprintf("orientation %d", s.Orientation))
	}
	if s.Bytes > 0 {
		parts = append(parts, bytesize.Text(s.Bytes))
	}

	for _, v := range s.Values {
		parts = append(parts, v.text())
	}
	for _, t := range s.Texts {
		parts = append(parts, fmt.Sprintf("%s %s", t.Name, visible(t.Text)))
	}
	for _, o := range s.Objects {
		parts = append(parts, fmt.Sprintf("%s an object, %s", o.Name, bytesize.Text(int64(o.Bytes))))
	}

	return strings.Join(parts, " · ")
}

func (v fieldValues) text() string {
	if len(v.Shape) == 0 {
		return v.Name + " " + shortNumber(v.Mean)
	}
	text := fmt.Sprintf("%s %s…%s, mean %s", v.Name, shortNumber(v.Min), shortNumber(v.Max), shortNumber(v.Mean))
	if v.NotFinite > 0 {
		text += fmt.Sprintf(", %s not finite", words.Thousands(v.NotFinite))
	}
	return text
}

// shortNumber writes three digits, or what matters of a number of colours.
func shortNumber(x float64) string {
	places := 2
	switch {
	case math.Abs(x) >= 99.95:
		places = 0
	case math.Abs(x) >= 9.995:
		places = 1
	}
	text := strconv.FormatFloat(x, 'f', places, 64)
	if places > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}
