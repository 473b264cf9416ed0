package forge

import "context"

// OpenAnyway is OpenPull without the look before.
func (c *Client) OpenAnyway(ctx context.Context, n NewPull) (Pull, bool, error) {
	return c.create(ctx, n)
}
