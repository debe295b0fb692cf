/** Colours of session states. The word always accompanies the colour. */
export const statusBadge = {
  active: 'badge badge--good',
  archived: 'badge',
  expired: 'badge badge--warn',
  deleted: 'badge badge--bad',
} as const
