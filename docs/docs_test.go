package docs

import (
	"slices"
	"strings"
	"testing"
)

func TestGuideHasEachPageOnce(t *testing.T) {
	text := Guide()
	for _, name := range names() {
		if n := strings.Count(text, "\npage: "+name+"\n\n# "); n != 1 {
			t.Errorf("%s comes %d times", name, n)
		}
	}
	if all := names(); len(all) < 30 || !slices.IsSortedFunc(all[len(first):], strings.Compare) {
		t.Errorf("%v", all)
	}
}

// Agents find a skill by its name and description.
func TestSkillHasAHead(t *testing.T) {
	head, rest, _ := strings.Cut(strings.TrimPrefix(Skill(), "---\n"), "---\n")
	if !strings.HasPrefix(head, "name: headrace\ndescription: ") || strings.Count(head, "\n") != 2 ||
		!strings.Contains(rest, "\n# For coding agents\n") {
		t.Errorf("%q", head)
	}
}
