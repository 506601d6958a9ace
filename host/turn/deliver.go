package turn

// deliveries are what a turn that ends so owes: its reply, once, to the conversation it was asked in. An operator's
// turn has no conversation and owes nothing. The route is the admitted principal's, whatever was bound since.
func (x *Execution) deliveries(a *admitted, end ending) []Delivery {
	to := a.req.Actor
	if to.Channel == "" || end.owes() == "" {
		return nil
	}
	return []Delivery{{ID: x.cfg.IDs.Delivery(), Channel: to.Channel, Conversation: to.ConversationKey, Body: end.owes()}}
}
