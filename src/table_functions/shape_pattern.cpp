#include "table_functions/shape_pattern.hpp"

#include "duckdb/common/operator/cast_operators.hpp"
#include "duckdb/common/set.hpp"

namespace merganser {

namespace {

constexpr idx_t MOST_NESTED_GROUPS = 64;
constexpr idx_t MOST_SECTIONS = 4096;
constexpr idx_t MOST_JOINED_VALUES = 1000000;

//! Numbers between braces, with the first number behind them.
struct Piece {
	idx_t begin;
	vector<double> values;
};

struct Token {
	enum class Kind : uint8_t { PIECE, OPEN, REPEAT, REPEAT_OR_NONE };
	Kind kind;
	//! PIECE: which one.
	idx_t piece;
	//! Where it is in the text.
	idx_t position;
};

//! Which sections a part of the pattern may begin and end with.
struct Part {
	set<idx_t> first;
	set<idx_t> last;
	bool may_be_empty = true;
};

class PatternText {
public:
	PatternText(const string &function, const string &parameter, const string &text)
	    : function(function), parameter(parameter), text(text) {
	}

	void Split() {
		for (SkipSpace(); position < text.size(); SkipSpace()) {
			auto symbol = text[position];
			if (symbol == ',') {
				if (comma && in_piece) {
					Throw("has no number between two commas", position);
				}
				comma = true;
				position++;
			} else if (symbol == '{' || symbol == '}') {
				AddBrace();
			} else {
				AddNumber();
			}
		}
		if (numbers < 2) {
			throw BinderException("%s: Invalid pattern: '%s'. %s must contain at least two numeric data points "
			                      "separated by commas, e.g., '1,2,3'",
			                      function, text, parameter);
		}
	}

	[[noreturn]] void Throw(const string &problem, idx_t place) const {
		throw BinderException("%s: Invalid pattern: '%s'. %s %s at character %llu. It is numbers, separated by commas, "
		                      "and groups {...}+ or {...}*, e.g., '1,{2,3,2}+,1'",
		                      function, text, parameter, problem, place + 1);
	}

	vector<Token> tokens;
	vector<Piece> pieces;

private:
	void SkipSpace() {
		while (position < text.size() && StringUtil::CharacterIsSpace(text[position])) {
			position++;
		}
	}

	void AddBrace() {
		auto place = position;
		auto kind = Token::Kind::OPEN;
		if (text[position++] == '}') {
			SkipSpace();
			auto sign = position < text.size() ? text[position] : '\0';
			if (sign != '+' && sign != '*') {
				Throw("is missing the repeat sign + or * after '}'", place);
			}
			kind = sign == '+' ? Token::Kind::REPEAT : Token::Kind::REPEAT_OR_NONE;
			position++;
		}
		tokens.push_back(Token {kind, 0, place});
		in_piece = false;
		comma = false;
	}

	void AddNumber() {
		if (in_piece && !comma) {
			Throw("has no comma between two numbers", position);
		}
		auto place = position;
		auto value = Number();
		if (!in_piece) {
			if (!pieces.empty()) {
				pieces.back().values.push_back(value);
			}
			tokens.push_back(Token {Token::Kind::PIECE, pieces.size(), place});
			pieces.push_back(Piece {numbers, {}});
			in_piece = true;
		}
		pieces.back().values.push_back(value);
		numbers++;
		comma = false;
	}

	double Number() {
		auto end = MinValue<idx_t>(text.find_first_of(",{} \t\r\n", position), text.size());
		double result;
		auto word = text.substr(position, end - position);
		if (!TryCast::Operation<string_t, double>(string_t(word), result, true) || !Value::DoubleIsFinite(result)) {
			Throw("has '" + word + "', which is no finite number,", position);
		}
		position = end;
		return result;
	}

	const string &function;
	const string &parameter;
	const string &text;
	idx_t position = 0;
	bool in_piece = false;
	//! A comma stands since the last number or brace.
	bool comma = false;
	idx_t numbers = 0;
};

class PatternAutomaton {
public:
	PatternAutomaton(const PatternText &text, optional<double> smoothness) : text(text), smoothness(smoothness) {
	}

	void Build() {
		idx_t token = 0;
		auto all = Sequence(token, 0);
		for (auto position : all.last) {
			final.insert(position);
		}
		for (auto position : all.first) {
			JoinedFrom(position);
		}
		for (idx_t i = 0; i < sections.size(); i++) {
			for (auto position : follow[last_position[i]]) {
				if (pieces[position].direction != sections[i].direction) {
					JoinedFrom(position);
				}
			}
		}
		for (auto position : all.first) {
			AddAll(starts, joined[position]);
		}
		for (idx_t i = 0; i < sections.size(); i++) {
			for (auto position : follow[last_position[i]]) {
				if (pieces[position].direction != sections[i].direction) {
					AddAll(sections[i].next, joined[position]);
				}
			}
		}
	}

	vector<ShapePattern::Section> sections;
	vector<idx_t> starts;

private:
	static void AddAll(vector<idx_t> &target, const vector<idx_t> &added) {
		target.insert(target.end(), added.begin(), added.end());
	}

	//! Up to the end of the group, or of the pattern.
	Part Sequence(idx_t &token, idx_t depth) {
		Part result;
		for (; token < text.tokens.size(); token++) {
			auto &next = text.tokens[token];
			if (next.kind == Token::Kind::PIECE) {
				Concatenate(result, CutPiece(text.pieces[next.piece]));
			} else if (next.kind == Token::Kind::OPEN) {
				Concatenate(result, Group(token, depth + 1));
			} else if (depth == 0) {
				text.Throw("closes a group that was not opened", next.position);
			} else {
				return result;
			}
		}
		return result;
	}

	Part Group(idx_t &token, idx_t depth) {
		auto place = text.tokens[token].position;
		if (depth > MOST_NESTED_GROUPS) {
			text.Throw("has more than 64 groups in each other", place);
		}
		auto result = Sequence(++token, depth);
		if (token == text.tokens.size()) {
			text.Throw("has a group that is not closed", place);
		}
		if (result.first.empty()) {
			text.Throw("has a group without a movement, which needs two numbers, or one and a number behind the group,",
			           place);
		}
		Link(result, result);
		if (text.tokens[token].kind == Token::Kind::REPEAT_OR_NONE) {
			result.may_be_empty = true;
		}
		return result;
	}

	void Link(const Part &left, const Part &right) {
		for (auto position : left.last) {
			follow[position].insert(right.first.begin(), right.first.end());
		}
	}

	void Concatenate(Part &left, const Part &right) {
		if (right.first.empty()) {
			return;
		}
		Link(left, right);
		if (left.may_be_empty) {
			left.first.insert(right.first.begin(), right.first.end());
		}
		if (!right.may_be_empty) {
			left.last.clear();
		}
		left.last.insert(right.last.begin(), right.last.end());
		left.may_be_empty = left.may_be_empty && right.may_be_empty;
	}

	Part CutPiece(const Piece &piece) {
		Part result;
		ShapeSections cutter(smoothness, [&](idx_t point) { return piece.values[point]; });
		for (auto value : piece.values) {
			cutter.Add(value);
		}
		cutter.Finish(false);
		ShapeSection cut;
		while (cutter.Take(cut)) {
			ShapePattern::Section section {};
			section.direction = cut.direction;
			section.begin = static_cast<double>(piece.begin + cut.first);
			section.values.assign(piece.values.begin() + static_cast<int64_t>(cut.first),
			                      piece.values.begin() + static_cast<int64_t>(cut.last) + 1);
			Part part;
			part.may_be_empty = false;
			part.first.insert(pieces.size());
			part.last.insert(pieces.size());
			pieces.push_back(std::move(section));
			follow.emplace_back();
			joined.emplace_back();
			Concatenate(result, part);
		}
		return result;
	}

	//! All sections that begin with this piece's section, joined with what may follow in the same direction.
	void JoinedFrom(idx_t position) {
		if (joined[position].empty()) {
			map<idx_t, idx_t> occurrences;
			Join(position, position, pieces[position], occurrences);
		}
	}

	void Join(idx_t begin, idx_t position, const ShapePattern::Section &section, map<idx_t, idx_t> &occurrences) {
		occurrences[position]++;
		joined_values += section.values.size();
		if (sections.size() == MOST_SECTIONS || joined_values > MOST_JOINED_VALUES) {
			text.Throw("has groups that join to too many sections", 0);
		}
		joined[begin].push_back(sections.size());
		last_position.push_back(position);
		sections.push_back(section);
		sections.back().final = final.find(position) != final.end();
		for (auto next : follow[position]) {
			if (pieces[next].direction != section.direction || occurrences[next] == 2) {
				continue;
			}
			auto longer = section;
			auto &added = pieces[next].values;
			auto rise = section.values.back() - added.front();
			for (idx_t i = 1; i < added.size(); i++) {
				longer.values.push_back(added[i] + rise);
			}
			Join(begin, next, longer, occurrences);
		}
		occurrences[position]--;
	}

	const PatternText &text;
	const optional<double> smoothness;
	//! Per piece's section: what may follow, and the joined sections that begin with it.
	vector<ShapePattern::Section> pieces;
	vector<set<idx_t>> follow;
	vector<vector<idx_t>> joined;
	set<idx_t> final;
	//! Per joined section: the piece's section it ends with.
	vector<idx_t> last_position;
	idx_t joined_values = 0;
};

} // namespace

ShapePattern ShapePattern::Parse(const string &function, const string &parameter, const string &text,
                                 optional<double> smoothness) {
	PatternText split(function, parameter, text);
	split.Split();
	PatternAutomaton automaton(split, smoothness);
	automaton.Build();
	ShapePattern result;
	result.sections = std::move(automaton.sections);
	result.starts = std::move(automaton.starts);
	auto begin = std::numeric_limits<double>::infinity();
	double end = 0;
	for (auto &section : result.sections) {
		section.lowest = *std::min_element(section.values.begin(), section.values.end());
		section.highest = *std::max_element(section.values.begin(), section.values.end());
		begin = MinValue(begin, section.begin);
		end = MaxValue(end, section.End());
	}
	result.max_width = end - begin;
	return result;
}

} // namespace merganser
