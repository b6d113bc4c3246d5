package resume

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/state"
)

// Steps go on with the files that they had, whatever older states leave out.
func TestStepsGoOnWithTheirFiles(t *testing.T) {
	e := Extent{Begin: state.State{Files: map[string]string{"add_noise": "3:ab", "reverb": "1:cd"}}}
	for _, c := range []struct {
		was  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"add_noise": "3:ab", "reverb": "1:cd"}, ""},
		{map[string]string{"reverb": "1:cd"}, ""},
		{map[string]string{"add_noise": "3:aa"}, `step "add_noise" has other files: there were 3, here are 3`},
		{map[string]string{"reverb": "20:cd"}, `step "reverb" has other files: there were 20, here are 1`},
	} {
		err := e.Fits(state.State{Files: c.was})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.was, err, c.want)
		}
	}
}
