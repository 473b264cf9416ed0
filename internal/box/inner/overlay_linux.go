package inner

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Overlay is one mount of [OverlayWord].
type Overlay struct{ Lower, Above, Upper, Work, Target string }

// OverlayArgs returns the arguments of our executable that mount overlays and run a program then. The
// process needs the capabilities of its user namespace.
func OverlayArgs(overlays []Overlay, argv []string) []string {
	args := []string{OverlayWord, strconv.Itoa(len(overlays))}
	for _, o := range overlays {
		args = append(args, o.Lower, o.Above, o.Upper, o.Work, o.Target)
	}
	return append(args, argv...)
}

// mountOverlays mounts the overlays and becomes the program.
func mountOverlays(args []string) int {
	const failed = 1 // as bwrap ends
	if len(args) == 0 {
		return failed
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n > len(args)/5 || len(args) < 2+5*n {
		return failed
	}
	for args = args[1:]; n > 0; n, args = n-1, args[5:] {
		lower := escapeOverlayPath(args[0])
		if above := args[1]; above != "" {
			lower = escapeOverlayPath(above) + ":" + lower
		}
		options := "lowerdir=" + lower + ",upperdir=" + escapeOverlayPath(args[2]) + ",workdir=" + escapeOverlayPath(args[3]) + ",userxattr"
		if err := syscall.Mount("overlay", args[4], "overlay", 0, options); err != nil {
			os.Stderr.WriteString("overlay over " + args[4] + ": " + err.Error() + "\n")
			return failed
		}
	}
	err = syscall.Exec(args[0], args, []string{})
	os.Stderr.WriteString(args[0] + ": " + err.Error() + "\n")
	return failed
}

// escapeOverlayPath writes a path for the options of an overlay.
func escapeOverlayPath(path string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`).Replace(path)
}
