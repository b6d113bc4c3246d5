package stats

import (
	"fmt"
	"strings"
)

// mostMixed bounds the sources of a mix that are told of, in their order.
const mostMixed = 8

// mixed says what came of each source of a mix, and its share as asked. A mix of which
// nothing came has nothing to say.
func mixed(m Mix) string {
	all, asked := int64(0), false
	for _, s := range m.Sources {
		all += s.Given
		asked = asked || s.Asked > 0 // of one whose sources are chosen, nobody has
	}
	if all == 0 {
		return ""
	}
	var parts []string
	for _, s := range m.Sources[:min(len(m.Sources), mostMixed)] {
		text := fmt.Sprintf("%s %s %%", s.Name, part(float64(s.Given)/float64(all)))
		if asked {
			text += fmt.Sprintf(" (asked %s)", part(s.Asked))
		}
		parts = append(parts, text)
	}
	if more := len(m.Sources) - mostMixed; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return m.Step + ": " + strings.Join(parts, ", ")
}

// part is a share in percent, with a digit after the point.
func part(share float64) string { return fmt.Sprintf("%.1f", 100*share) }
