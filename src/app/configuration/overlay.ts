/** Overlays settings with others: groups are merged key by key, every other value is replaced. */
import { z } from 'zod'
import { unwrapped } from '../../log/commands/input.ts'

type Fields = Readonly<Record<string, unknown>>

/** Keys whose value is undefined change nothing. */
export function overlay<T extends object>(schema: z.ZodObject, under: T, over: Partial<T>): T {
  const merged = { ...under } as Record<string, unknown>
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) continue
    const group = groupAt(schema, key)
    const below = merged[key]
    merged[key] = group && isObject(below) && isObject(value) ? overlay(group, below, value) : value
  }
  return merged as T
}

/** Leaves out of `own` what `over` sets. */
export function withoutOverridden<T extends object>(schema: z.ZodObject, own: T, over: object): T {
  const kept = Object.entries(own).flatMap(([key, value]) => {
    const above = (over as Fields)[key]
    if (above === undefined) return [[key, value]]
    const group = groupAt(schema, key)
    return group && isObject(value) && isObject(above) ? [[key, withoutOverridden(group, value, above)]] : []
  })
  return Object.fromEntries(kept) as T
}

function groupAt(schema: z.ZodObject, key: string): z.ZodObject | undefined {
  const field = schema.shape[key] as z.ZodType | undefined
  const plain = field && unwrapped(field)
  return plain instanceof z.ZodObject ? plain : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
