/** A context as text: what seldom changes, and what changes often. */
import { describe, expect, it } from 'vitest'
import type { SessionContext } from '../events/context.ts'
import { renderStableContext, renderVolatileContext } from './render-context.ts'

const context: SessionContext = {
  project: {
    root: '/srv/shop',
    structure: 'src/\n  main.ts',
    instructionFiles: [
      { name: 'CLAUDE.md', text: 'Use tabs.\n' },
      { name: 'PROJECT.md', text: 'A shop.' },
    ],
    recentCommits: ['abc1234 the form', 'def5678 a start'],
  },
  feature: {
    id: 'login',
    name: 'Login',
    goal: 'People can log in',
    spec: 'With a password.',
    tasks: [
      { id: 't1', title: 'The form', state: 'in_dev' },
      { id: 't2', title: 'The page' },
    ],
  },
  task: {
    id: 't1',
    title: 'The form',
    description: 'Two fields.',
    state: 'in_dev',
    dependencies: [{ id: 't0', title: 'The table', state: 'done' }],
    dependents: [{ id: 't2', title: 'The page' }],
  },
  dagSummary: '3 tasks: 1 done',
}

it('renders the stable half with headings', () => {
  expect(renderStableContext(context)).toBe(
    `
# Project
Root: /srv/shop

## Directory structure
src/
  main.ts

## CLAUDE.md
Use tabs.

## PROJECT.md
A shop.

# Feature login: Login

## Goal
People can log in

## Specification
With a password.

# Task t1: The form

## Description
Two fields.`.trim(),
  )
})

it('renders the volatile half with states', () => {
  expect(renderVolatileContext(context)).toBe(
    `
Task t1 is in state in_dev.

## This task depends on
- t0: The table (done)

## These depend on this task
- t2: The page

## Tasks of the feature
- t1: The form (in_dev)
- t2: The page

## Task graph
3 tasks: 1 done

## Recent commits
- abc1234 the form
- def5678 a start`.trim(),
  )
})

it('leaves out what is empty', () => {
  const empty: SessionContext = {
    project: { structure: ' ', instructionFiles: [{ name: 'CLAUDE.md', text: '' }], recentCommits: [] },
    feature: { id: 'f', name: 'F', tasks: [] },
  }
  expect(renderStableContext(empty)).toBe('# Feature f: F')
  expect(renderVolatileContext(empty)).toBe('')
  expect(renderStableContext({ project: {} })).toBe('')
})

describe('[P8] the stable half stays the same bytes', () => {
  it('while states, commits, dependencies and the task list move', () => {
    const later: SessionContext = {
      ...context,
      project: { ...context.project, recentCommits: ['fff0000 more'] },
      feature: { ...context.feature!, tasks: [] },
      task: { ...context.task!, state: 'in_qa', dependencies: [], dependents: [] },
      dagSummary: '3 tasks: 2 done',
    }
    expect(renderStableContext(later)).toBe(renderStableContext(context))
    expect(renderVolatileContext(later)).not.toBe(renderVolatileContext(context))
  })
})
