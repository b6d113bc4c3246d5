package recipe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/argument"
	"github.com/headrace/headrace/internal/recipetest"
	"github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// compile makes a validator of the schema, which is itself checked by the schema of
// schemas.
func compile(t *testing.T) func(doc string) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(recipe.Schema(headrace.ConfigSchema())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("recipe.schema.json", schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("recipe.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(doc string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		return s.Validate(v)
	}
}

// around puts a step where its operation may be.
func around(op, step string) string { return wrap(places()[op] + step) }

// places returns the beginnings after which operations may come, with the examples of
// their arguments: the first of a few that fits.
var places = sync.OnceValue(func() map[string]string {
	const files, image, crop = `{"files":{"pattern":"a"}},`, `"decode_image",`, `{"center_crop":{"size":8}},`
	all := []string{files + image, "", files, files + image + crop}
	for _, op := range recipetest.Ops() {
		if recipe.TraitsOf(recipe.Completed(op.New())).Suffixes != nil {
			all = append(all, files+exampleOf(op)+",")
		}
	}
	all = append(all, files+image+crop+`{"batch":{"size":2}},`,
		files+image+`{"map":{"function":"m:f","gives":{"image":{"dtype":"uint8","shape":[null,null,3]},`+
			`"boxes":{"dtype":"float32","shape":[null,4]},"labels":{"dtype":"int64","shape":[null]},`+
			`"points":{"dtype":"float32","shape":[null,2]}}}},`,
		files+image+`{"map":{"function":"m:f","gives":{"image":{"dtype":"uint8","shape":[8,8,3]},"mask":{"dtype":"uint8","shape":[8,8]},`+
			`"boxes":{"dtype":"float32","shape":[null,4]},"labels":{"dtype":"int64","shape":[null]}}}},`+
			`{"bucket_batch":{"lengths":[4],"size":2}},`)
	all = append(all, files+`{"decode_video":{"frames":8,"to":"image"}},`, files+`{"decode_audio":{"channels":1}},"log_mel",`,
		`{"files":{"pattern":"a","label":"parent"}},`+image+crop+`{"batch":{"size":2}},`)
	for _, age := range []string{"float32", "int64"} {
		all = append(all, files+`{"map":{"function":"m:f","gives":{"age":{"dtype":"`+age+`"},"price":{"dtype":"float32"}}}},`)
	}

	places := make(map[string]string)
	for _, op := range recipetest.Ops() {
		i := slices.IndexFunc(all, func(before string) bool {
			f, err := recipe.Read("r", []byte(wrap(before+exampleOf(op))), recipe.Variables{})
			if err == nil {
				_, err = f.Check()
			}
			return err == nil
		})
		places[op.Name] = all[max(i, 0)] // where it fits nowhere, TestSchemaTakesWhatIsRight says why
	}
	return places
})

// Whatever the engine takes, editors must not mark.
func TestSchemaTakesWhatIsRight(t *testing.T) {
	validate := compile(t)
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom(recipetest.Ops()).Draw(t, "op")
		args, err := json.Marshal(recipetest.Args(t, op, 2))
		if err != nil {
			t.Fatal(err)
		}
		doc := around(op.Name, fmt.Sprintf(`{%q:%s}`, op.Name, args))
		f, err := recipe.Read("r", []byte(doc), recipe.Variables{})
		if err != nil || strings.Contains(doc, "$") {
			return
		}
		if _, err := f.Check(); err != nil {
			return
		}
		if err := validate(doc); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if err := validate(string(f.JSON())); err != nil {
			t.Fatalf("%s: %v", f.JSON(), err)
		}
	})
	for _, op := range recipetest.Ops() {
		doc := around(op.Name, exampleOf(op))
		f, err := recipe.Read("r", []byte(doc), recipe.Variables{})
		if err == nil {
			_, err = f.Check()
		}
		if err != nil {
			t.Errorf("%s: the examples of its arguments are wrong, or it fits after none of the beginnings in places, "+
				"to which one can be added; after the first: %v", op.Name, err)
		}
		if err := validate(string(f.JSON())); err != nil {
			t.Errorf("%s: %v", op.Name, err)
		}
	}
	for _, doc := range []string{
		`{"headrace":1,"seed":18446744073709551615,"vars":{"root":null,"size":3,"mean":[1,2],"x":"y","b":true},"steps":["shuffle"],"$schema":"x.json"}`,
		wrap(`{"resize":{"size":"${size}","max_size":null,"filter":"${filter}"},"name":"small"}`),
		wrap(`{"resize":{"size":["${h}",3],"filter":"bi${cubic}"}}`),
		wrap(`{"shuffle":null},{"decode_image":{"background":["${r}",0,255],"orient":"${o}"}},{"files":{"pairs":[["${root}/a","${n}"]],"paths":["a"]}}`),
		wrap(`{"pad":{"padding":["${p}",3],"fill":"${fill}"}},{"normalize":{"mean":"${mean}","std":["${s}",1,2]}}`),
		`{"headrace":1,"steps":["shuffle"],"loader":{"epochs":null,"workers":"${w}","order":"completion","memory":"2 GiB","hold_limit":3,"on_error":"skip","max_errors":0.5,"prefetch":2,"fuse":false}}`,
	} {
		if err := validate(doc); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// Trees whose steps fit together, too.
func TestSchemaTakesTrees(t *testing.T) {
	validate := compile(t)
	if err := validate(jsonOf(t, tree)); err != nil {
		t.Error(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := recipe.File{Recipe: drawTree(t)}
		if _, err := f.Recipe.Check(); err != nil {
			t.Fatalf("%v: %v", f.Recipe, err)
		}
		if err := validate(string(f.JSON())); err != nil {
			t.Fatalf("%s: %v", f.JSON(), err)
		}
		back, err := recipe.Read("r", f.YAML(), recipe.Variables{})
		if diff := cmp.Diff(f.Recipe, back.Recipe, comparable); err != nil || diff != "" {
			t.Fatalf("%s: %v\n%s", f.YAML(), err, diff)
		}
	})
}

// jsonOf is what YAML says, as JSON, variables and all.
func jsonOf(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exampleOf is a step with all examples that its operation has, and with nothing where
// it has none.
func exampleOf(op recipe.Op) string {
	args := make(map[string]json.RawMessage)
	for name, p := range described()["args."+op.Name].Properties {
		if len(p.Examples) > 0 {
			args[name] = p.Examples[0]
		}
	}
	text, err := json.Marshal(map[string]any{op.Name: args})
	if err != nil {
		panic(err)
	}
	return string(text)
}

type definition struct {
	Properties map[string]struct{ Examples []json.RawMessage }
}

var described = sync.OnceValue(func() map[string]definition {
	var schema struct {
		Defs map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(recipe.Schema(nil), &schema); err != nil {
		panic(err)
	}
	return schema.Defs
})

// Whatever an editor can see of what the engine refuses, it should mark.
func TestSchemaRefusesMistakes(t *testing.T) {
	validate := compile(t)
	refused := func(doc string) {
		t.Helper()
		if validate(doc) == nil {
			t.Errorf("%s: no mistake is marked", doc)
		}
		f, err := recipe.Read("r", []byte(doc), recipe.Variables{})
		if err == nil {
			_, err = f.Check()
		}
		if err == nil {
			_, err = headrace.FileConfig(f)
		}
		if err == nil {
			t.Errorf("%s: the engine takes it", doc)
		}
	}
	for _, doc := range []string{
		`[]`, `{}`, `{"headrace":1}`, `{"steps":["shuffle"]}`, `{"headrace":2,"steps":["shuffle"]}`, `{"headrace":"1","steps":["shuffle"]}`, `{"headrace":1,"steps":[]}`,
		`{"headrace":1,"steps":{}}`, `{"headrace":1,"steps":["shuffle"],"sed":1}`, `{"headrace":1,"seed":-1,"steps":["shuffle"]}`, `{"headrace":1,"seed":1.5,"steps":["shuffle"]}`,
		`{"headrace":1,"seed":18446744073709551616,"steps":["shuffle"]}`, `{"headrace":1,"seed":"3","steps":["shuffle"]}`, `{"headrace":1,"vars":{"a-b":1},"steps":["shuffle"]}`,
		`{"headrace":1,"vars":{"a":{}},"steps":["shuffle"]}`, `{"headrace":1,"vars":[],"steps":["shuffle"]}`,
		wrap(`3`), wrap(`null`), wrap(`{}`), wrap(`"shufle"`), wrap(`"resize"`), wrap(`{"shufle":{}}`), wrap(`{"name":"a"}`), wrap(`{"shuffle":{},"decode_image":{}}`),
		wrap(`{"shuffle":{},"name":"a b"}`), wrap(`{"shuffle":{},"name":3}`), wrap(`{"shuffle":{},"failures":3}`), wrap(`{"shuffle":{},"nme":"a"}`), wrap(`{"resize":null,"size":3}`),
		`{"headrace":1,"steps":["files"],"loader":3}`,
	} {
		refused(doc)
	}
	for _, op := range recipetest.Ops() {
		refused(around(op.Name, fmt.Sprintf(`{%q:{"sise":3}}`, op.Name)))
		refused(around(op.Name, fmt.Sprintf(`{%q:3}`, op.Name)))
		for _, a := range op.Arguments() {
			refused(around(op.Name, fmt.Sprintf(`{%q:{%q:{"x":[{}]}}}`, op.Name, a.Name)))
			refused(around(op.Name, fmt.Sprintf(`{%q:{%q:[[[]]]}}`, op.Name, a.Name)))
			if a.Takes == "text" && len(a.Choices) > 0 {
				refused(around(op.Name, fmt.Sprintf(`{%q:{%q:"something"}}`, op.Name, a.Name)))
			}
			if !strings.HasPrefix(a.Takes, "text") {
				refused(around(op.Name, fmt.Sprintf(`{%q:{%q:"three"}}`, op.Name, a.Name)))
			}
			for _, value := range beyond(op, a.Name) {
				refused(around(op.Name, exampleWith(t, op, a.Name, value)))
			}
			if a.Required {
				refused(around(op.Name, exampleWith(t, op, a.Name, "")))
			}
		}
	}
	for arg, values := range map[string][]string{
		`{"resize":{"size":%s}}`: {"0", "1.5", "[3]", "[3,0]", "[1,2,3]"}, `{"pad":{"padding":%s}}`: {"-1", "[1,2,3]", "[]"}, `{"pad":{"padding":1,"fill":%s}}`: {"-1", "65536", "[1,2]"},
		`{"grayscale":{"channels":%s}}`: {"2"}, `{"normalize":{"mean":%s,"std":1}}`: {"[1,2]", "[]"}, `{"color_jitter":{"hue":%s}}`: {"[1]", "[1,2,3]"},
		`{"random_resized_crop":{"size":3,"scale":%s}}`: {"[1]", "1", "[0.1,0.2,0.3]"},
	} {
		for _, value := range values {
			refused(wrap(`{"files":{"pattern":"a"}},"decode_image",` + fmt.Sprintf(arg, value)))
		}
	}
	for of, values := range map[string][]string{
		`{"merge":{"of":%s}}`:                                              {`[]`, `[{"files":{"pattern":"a"}}]`, `[["resize"]]`, `[[{"files":{"patern":"a"}}]]`, `[[3]]`, `"${x}"`},
		`{"merge":{"of":[[{"files":{"pattern":"a"}}]],%s}}`:                {`"order":"all"`, `"until":"end"`, `"weights":[true]`, `"weights":1`, `"seed":1`, `"by":"key"`},
		`{"mix":{"of":[[{"files":{"pattern":"a"}}]],%s}}`:                  {`"weights":[true]`, `"repeat":1`, `"temperature":"hot"`, `"schedule":[1]`, `"in":"bytes"`, `"until":"end"`, `"source":1`, `"seed":-1`},
		`{"files":{"pattern":"a"}},{"route":%s}`:                           {`{"by":"key"}`, `{"branches":[{"steps":[]}]}`, `{"by":"key","branches":[]}`, `{"by":3,"branches":[{"steps":[]}]}`},
		`{"files":{"pattern":"a"}},{"route":{"by":"key","branches":[%s]}}`: {`{}`, `{"when":["a"]}`, `{"when":[],"steps":[]}`, `{"when":"a","steps":[]}`, `{"when":[1.5],"steps":[]}`, `{"when":[true],"steps":[]}`, `{"when":[9223372036854775808],"steps":[]}`, `{"steps":["resize"]}`, `{"steps":{}}`, `{"steps":[],"then":[]}`},
		`{"files":{"pattern":"a"}},{"decode_image":{},"failures":%s}`:      {`3`, `[]`, `{"retry":1}`, `{"on_error":"stop"}`, `{"max_errors":-1}`, `{"max_errors":"few"}`, `{"retries":101}`, `{"retries":-1}`, `{"retries":1,"wait":31}`, `{"time_limit":-1}`, `{"time_limit":86401}`},
	} {
		for _, value := range values {
			refused(wrap(fmt.Sprintf(of, value)))
		}
	}
	for _, value := range []string{"0", "-1", "1.5"} {
		refused(around("batch", `{"batch":{"size":`+value+`}}`))
	}
	for key, values := range map[string][]string{
		"epochs": {"-1", `"x"`, "1.5"}, "workers": {"0", "257"}, "order": {`"random"`, "3"}, "memory": {"0", `"much"`, "[]"}, "hold_limit": {"-1"}, "on_error": {`"ignore"`}, "max_errors": {`"x"`, "-1"},
		"prefetch": {"1001", "-1"}, "fuse": {"1"}, "rank": {"0"}, "world_size": {"1"}, "local_world_size": {"1"}, "wrokers": {"3"},
	} {
		for _, value := range values {
			refused(fmt.Sprintf(`{"headrace":1,"steps":[{"files":{"pattern":"a"}}],"loader":{%q:%s}}`, key, value))
		}
	}
}

// exampleWith is exampleOf with another value of an argument, or without it.
func exampleWith(t *testing.T, op recipe.Op, name, value string) string {
	var step map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(exampleOf(op)), &step); err != nil {
		t.Fatal(err)
	}
	if step[op.Name][name] = json.RawMessage(value); value == "" {
		delete(step[op.Name], name)
	}
	text, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// beyond returns what an argument of an operation cannot be, by its type and its tags.
func beyond(op recipe.Op, name string) (values []string) {
	for _, f := range argument.FieldsOf(op.New()) {
		if argument.Name(f) != name || f.Tag.Get("unit") != "" {
			continue
		}
		typ := f.Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		_, ofItsOwn := reflect.New(typ).Interface().(json.Marshaler)
		whole, number := typ.Kind() == reflect.Int || typ.Kind() == reflect.Int64, typ.Kind() == reflect.Float64
		switch {
		case whole && !ofItsOwn:
			values = append(values, "true", "1.5")
		case number && !ofItsOwn:
			values = append(values, "true")
		}
		for tag, by := range map[string]float64{"min": -0.5, "max": 0.5} {
			if n, err := strconv.ParseFloat(f.Tag.Get(tag), 64); err == nil && (whole || number) {
				if whole {
					by *= 2
				}
				if n += by; n != 0 || f.Type.Kind() == reflect.Pointer { // else 0 is what is not given
					values = append(values, strconv.FormatFloat(n, 'f', -1, 64))
				}
			}
		}
		if typ == reflect.TypeFor[image.Range]() {
			values = append(values, "[1]", "[1,2,3]", "true")
		}
	}
	return values
}

// What Check misses, editors ask for.
func TestRequiredArguments(t *testing.T) {
	for _, op := range recipetest.Ops() {
		f, err := recipe.Read("r", []byte(around(op.Name, fmt.Sprintf(`{%q:{}}`, op.Name))), recipe.Variables{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Check()
		for _, a := range op.Arguments() {
			if missed := strings.Contains(fmt.Sprint(err), "lacks the argument "+a.Name); missed != a.Required {
				t.Errorf("%s: %s is required: %v, and without it comes %v", op.Name, a.Name, a.Required, err)
			}
		}
	}
}
