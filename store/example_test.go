package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/store"
)

func Example() {
	root, err := os.MkdirTemp("", "headrace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	for _, name := range []string{"b/2.txt", "a/1.txt", "a/notes.md"} {
		os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755)
		os.WriteFile(filepath.Join(root, name), []byte("in "+name), 0o644)
	}
	table, err := store.List(context.Background(), root, "*/*.txt", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var buf []byte // is used again for each file
	for i := range table.Len() {
		if buf, err = store.ReadFile(table.Path(i), buf); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s, of folder %s: %s\n", table.Key(i), table.Parent(i), buf)
	}
	// Output:
	// a/1.txt, of folder a: in a/1.txt
	// b/2.txt, of folder b: in b/2.txt
}
