import { expect, it } from 'vitest'
import { withoutPassword } from './store-address.ts'

it.each([
  ['postgres://ada:swordfish@db:5432/colloquy?schema=s1', 'postgres://ada:***@db:5432/colloquy?schema=s1'],
  ['postgres://ada:sword@fi/sh@one:1,two:2/colloquy', 'postgres://ada:***@one:1,two:2/colloquy'],
  [
    'postgres://db/colloquy?user=ada&password=swordfish&schema=s1',
    'postgres://db/colloquy?user=ada&password=***&schema=s1',
  ],
  ['postgre://ada:swordfish@db/colloquy', 'postgre://ada:***@db/colloquy'],
  ['postgres://ada@db/colloquy', 'postgres://ada@db/colloquy'],
  ['sqlite:/home/a:b@c/colloquy.db?password=x', 'sqlite:/home/a:b@c/colloquy.db?password=x'],
])('the address %s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})
