//go:build !headrace_debug

package arena

import "testing"

// Without guards a slot costs nothing but its pages.
func TestNoGuards(t *testing.T) {
	if Guarded || Stride(int(pageSize)) != pageSize || Stride(1) != pageSize {
		t.Fatalf("guarded: %v; a page takes %d bytes", Guarded, Stride(int(pageSize)))
	}
}
