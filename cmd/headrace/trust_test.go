package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marking is a module that leaves a file when it is imported.
const marking = "import os\n\nopen(os.environ['HEADRACE_TEST_MARK'], 'w').close()\n\ndef same(image):\n    return image\n\ndef some(key):\n    return True\n\n" +
	"def put(samples):\n    return {'n': len(samples)}\n\ndef numbers():\n    yield {'n': 1}\n\nclass Own:\n    def __getitem__(self, i):\n        return {'n': i}\n\ndef names(i):\n    return str(i)\n\n" +
	"class Pairs:\n    def accumulate(self, sample):\n        yield sample\n\n    def flush(self):\n        return ()\n"

// To look at a recipe imports nothing of it, whatever operation names a function, and
// whether it says what that gives or not.
func TestLookingAtARecipeImportsNothing(t *testing.T) {
	folder := besidePython(t, marking)
	mark := filepath.Join(t.TempDir(), "mark")
	t.Setenv("HEADRACE_TEST_MARK", mark)
	marked := func() bool { _, err := os.Stat(mark); return err == nil }
	files, decode := "  - files: {pattern: \"class*/*.jpg\"}\n", "  - decode_image\n  - center_crop: {size: 8}\n"
	image := ", gives: {image: {dtype: uint8, shape: [8, 8, 3]}}"
	for name, steps := range map[string]string{
		"map":       files + decode + `  - map: {function: "own:same", fields: [image]}` + "\n  - batch: {size: 2}\n",
		"map gives": files + decode + `  - map: {function: "own:same", fields: [image]` + image + "}\n  - batch: {size: 2}\n",
		"threads":   files + decode + `  - map: {function: "own:same", fields: [image], where: thread` + image + "}\n  - batch: {size: 2}\n",
		"filter":    files + `  - filter: {function: "own:some", fields: [key]}` + "\n" + decode + "  - batch: {size: 2}\n",
		"flat_map":  files + decode + `  - flat_map: {function: "own:numbers"}` + "\n  - batch: {size: 2}\n",
		"collate":   files + decode + `  - batch: {size: 2, collate: {function: "own:put"}}` + "\n",
		"aggregate": files + decode + `  - aggregate: {function: "own:Pairs"}` + "\n  - batch: {size: 2}\n",
		"iterated":  `  - source: {function: "own:numbers"}` + "\n  - batch: {size: 2}\n",
		"by number": `  - source: {function: "own:Own", length: 4, keys: "own:names", gives: {n: {dtype: int64}}}` + "\n  - shuffle\n  - batch: {size: 2}\n",
		"a branch":  files + `  - route: {by: key, branches: [{when: ["*"], steps: [decode_image, {center_crop: {size: 8}}, {map: {function: "own:same", fields: [image]` + image + "}}]}]}\n  - batch: {size: 2}\n",
	} {
		recipeIn(t, folder, "headrace: 1\n"+"steps:\n"+steps)
		for _, command := range []string{
			"inspect r.yaml", "inspect r.yaml --samples 0", "inspect r.yaml --mermaid", "inspect r.yaml --json", "inspect r.yaml --mermaid --samples 3", "convert r.yaml", "__complete inspect r.yaml --set \"\"",
		} {
			if got := invoke(t, folder, strings.Fields(command)...); got.code != 0 || got.stdout == "" {
				t.Errorf("%s: %s: %+v", name, command, got)
			} else if marked() {
				t.Fatalf("%s: %s has imported the module", name, command)
			} else if command == "inspect r.yaml" && !strings.Contains(got.stdout, "not imported") {
				t.Errorf("%s: %s", name, got.stdout)
			}
		}
		if got := invoke(t, folder, "preview", "r.yaml", "-n", "0", "-o", "sheet.png"); got.code != exitUsage || marked() {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := invoke(t, folder, "schema"); got.code != 0 || marked() {
		t.Errorf("%+v", got)
	}
	// and whoever asks for samples gets them
	recipeIn(t, folder, fmt.Sprintf("headrace: 1\nsteps:\n%s%s  - map: {function: \"own:same\", fields: [image]}\n  - batch: {size: 2}\n", files, decode))
	got := invoke(t, folder, "inspect", "r.yaml", "--samples", "2", "--json")
	var said struct {
		Functions []string
		Called    bool
		Samples   []any
	}
	if err := json.Unmarshal([]byte(got.stdout), &said); err != nil || len(said.Samples) != 2 || !said.Called || len(said.Functions) != 1 || !marked() {
		t.Errorf("%v: %+v %+v", err, said, got)
	}
}
