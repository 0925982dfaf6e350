//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/shape_pattern.hpp
//
// The PATTERN of PATTERN_MATCH: numbers, and groups that repeat, as an automaton over sections.
//   1,2,3,2,1          rise 1 2 3, fall 3 2 1
//   1,{2,3,2}+,1,1     1 2, then 2 3 2 1 once or more, then 1 1: a piece ends with the first number behind it
//   1,{2,3,2}*,1,1     the group may be left out
// Numbers are separated by commas, which may be left out beside a brace; groups nest. Numbers follow each other at
// distance 1. Each piece (the numbers between braces) is cut into sections; a reading of the pattern is a sequence of
// pieces' sections that the groups allow. Where one ends in the direction in which the next begins they are joined to
// one section: the next continues where the one ended. No piece's section occurs more than twice in one joined section,
// so {1,2}+ rises once or twice.
// Errors: BinderException for text that is no pattern, fewer than two numbers, a group without a movement, more than 64
// nested groups, or groups that join to more than 4096 sections.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/shape_sections.hpp"

namespace merganser {

class ShapePattern {
public:
	struct Section {
		ShapeSection::Direction direction;
		vector<double> values;
		//! The position of its first number in the pattern.
		double begin;
		double lowest;
		double highest;
		//! A reading may end here.
		bool final;
		//! The sections that may follow, as positions in Sections().
		vector<idx_t> next;

		double Width() const {
			return static_cast<double>(values.size() - 1);
		}
		double Height() const {
			return highest - lowest;
		}
		double End() const {
			return begin + Width();
		}
	};

	//! `smoothness` is none unless the pattern, too, is to be smoothed. `function` and `parameter` are for errors.
	static ShapePattern Parse(const string &function, const string &parameter, const string &text,
	                          optional<double> smoothness);

	const vector<Section> &Sections() const {
		return sections;
	}
	//! The sections a reading may begin with.
	const vector<idx_t> &Starts() const {
		return starts;
	}
	//! The largest width of a reading.
	double MaxWidth() const {
		return max_width;
	}

private:
	vector<Section> sections;
	vector<idx_t> starts;
	double max_width = 0;
};

} // namespace merganser
