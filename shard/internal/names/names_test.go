package names

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNamesComeOnceAndInOrder(t *testing.T) {
	var s Set
	for _, name := range []string{"b", "", "a", "b", "", "c"} {
		s.Add([]byte(name))
	}
	if !slices.Equal(s.All, []string{"b", "", "a", "c"}) || s.TooBig {
		t.Errorf("%q", s.All)
	}
}

func TestDictionariesThatAreTooBigHaveNoNames(t *testing.T) {
	var many, long Set
	for i := range Most + 1 {
		if many.TooBig {
			t.Fatalf("after %d names", i)
		}
		many.Add(fmt.Append(nil, i))
	}
	for range 2 {
		long.Add([]byte(strings.Repeat("x", MostBytes)))
	}
	if !many.TooBig || many.All != nil || long.TooBig {
		t.Errorf("%v %d, %v", many.TooBig, len(many.All), long.TooBig)
	}
	long.Add([]byte("y"))
	if long.Add([]byte("z")); !long.TooBig || long.All != nil {
		t.Errorf("%v %d", long.TooBig, len(long.All))
	}
}
