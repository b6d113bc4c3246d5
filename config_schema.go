package headrace

import "headrace/recipe"

// ConfigSchema returns the JSON Schema of the section "loader" of recipes.
func ConfigSchema() map[string]any {
	s := recipe.ObjectSchema(new(Config))
	properties := s["properties"].(map[string]any)
	for key := range ofTheProcess {
		delete(properties, key)
	}
	s["description"] = "how the recipe is run: what loader(…) takes in Python, and the flags of headrace run"
	return s
}
