/** States of a session by their colour. The word always stands beside it. */
export const statusBadge = {
  active: 'badge badge--good',
  archived: 'badge',
  expired: 'badge badge--warn',
  deleted: 'badge badge--bad',
} as const
