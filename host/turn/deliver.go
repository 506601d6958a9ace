package turn

import "strings"

// deliveries are what a turn that ends so owes: its reply, once, to the conversation it was asked in. An operator's
// turn has no conversation and owes nothing. A model that writes bytes which are no text does not keep the turn from
// ending: the body is made text. The route is the admitted principal's, whatever was bound since.
func (x *Execution) deliveries(a *admitted, end ending) []Delivery {
	to := a.req.Actor
	if to.Channel == "" || end.owes() == "" {
		return nil
	}
	return []Delivery{{ID: x.cfg.IDs.Delivery(), Channel: to.Channel, Conversation: to.ConversationKey, Body: strings.ToValidUTF8(end.owes(), "\uFFFD")}}
}
