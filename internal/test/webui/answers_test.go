package webui_test

import "fmt"

const greetGo = `package greet

// Greet says hello to name.
func Greet(name string) string {
	return "Hello " + name
}
`

const plan = "# Put a comma after Hello\n\n- [ ] change Greet\n- [ ] keep its comment\n"

// greeting is the answer that changes what Greet returns.
func greeting(summary, before, after string) string {
	return fmt.Sprintf(`<<<AIO_RESULT_START>>>
type: PATCH
summary: %s
<<<AIO_RESULT_END>>>

[PATCH_BEGIN]
diff --git a/greet.go b/greet.go
--- a/greet.go
+++ b/greet.go
@@ -2,5 +2,5 @@
 
 // Greet says hello to name.
 func Greet(name string) string {
-	return %s
+	return %s
 }
[PATCH_END]
`, summary, before, after)
}

func question(text, reason, needed string) string {
	return fmt.Sprintf("<<<AIO_RESULT_START>>>\ntype: ASK\nquestion: %s\nreason: %s\nneeded_input:\n- %s\n<<<AIO_RESULT_END>>>\n", text, reason, needed)
}
