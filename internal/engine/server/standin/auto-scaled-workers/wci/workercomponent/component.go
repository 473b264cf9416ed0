// Package workercomponent stands in for the workflows of worker controllers.
package workercomponent

import "go.uber.org/fx"

// Module registers nothing.
var Module = fx.Options()
